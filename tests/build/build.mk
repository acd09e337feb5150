# How the written C compiles, links and runs outside the suite.

check-build: attnc
	@tests/build/run

check-build-all: attnc
	@tests/build/run --all

.PHONY: check-build check-build-all
