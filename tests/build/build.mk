# How the written C compiles, links and runs outside the suite.

check-build: attnc
	@tests/build/run

.PHONY: check-build
