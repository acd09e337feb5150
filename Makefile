# make            ./attnc (needs the packages of `make setup-build`)
# make demo       writes, compiles, checks and times the kernels of a real model's shape
# make check      what is tested at each change; SPEC=file.lua runs the shared suite on that spec alone
# make check-all  every shipped spec on every instruction set, every line of tests/build/run's table
# make fuzz       N=500 SEED=7: random specs through the shared suite (tests/fuzz)
# make story      MODEL=stories260K.bin TOKENIZER=tok512.bin: a trained model tells a story
# make bench      how fast the kernels are; bench-peers: beside other libraries (tests/bench/bench.mk)
# make lint, make setup, make install PREFIX=/usr/local, make clean

all: attnc

include gen/gen.mk
include tests/tests.mk
include tests/fuzz/fuzz.mk
include tests/bench/bench.mk
include tests/build/build.mk
include examples/story/story.mk

BUILD_PACKAGES := gcc make pkg-config libc6-dev liblua5.4-dev libjansson-dev libmd-dev
CHECK_PACKAGES := $(BUILD_PACKAGES) g++ cmake libcriterion-dev lua5.4 clang clang-19 libclang-rt-19-dev \
	valgrind clang-format clang-tidy cppcheck lua-check shellcheck \
	gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-riscv64-linux-gnu libc6-dev-riscv64-cross \
	gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user lld-19 wasi-libc libclang-rt-19-dev-wasm32 \
	nodejs clang-tools-19 gcc-mingw-w64-x86-64 wine64

PREFIX ?= /usr/local

# Nothing that a package brings may be looked at before setup ran: what follows it is a make of its
# own.
setup: out/setup-check
setup-build: out/setup-build

out/setup-build: .ci/setup Makefile
	@.ci/setup $(BUILD_PACKAGES)
	@mkdir -p out && touch $@

out/setup-check: .ci/setup Makefile
	@.ci/setup $(CHECK_PACKAGES)
	@mkdir -p out && touch $@

demo: out/setup-build
	@$(MAKE) --no-print-directory attnc
	@examples/demo

# The kernels, which several of the parts take, are built before; what fails there is counted by
# check-kernels. The long parts come first.
check: out/setup-check
	-@$(MAKE) --no-print-directory -j2 $(SUITE_OUT)/suite
ifdef SPEC
	@$(MAKE) --no-print-directory check-kernels
else
	@MAKE='$(MAKE) --no-print-directory' tests/build/summary check-build check-kernels \
		check-foreign lint check-objects check-generator check-fuzz check-story check-bench
endif

# Whole means: every kernel as users compile it, every path that the analyzer would follow.
check-all: whole = KERNEL_LEVEL=-O2 LINT_NODES=225000
check-all: out/setup-check
	-@$(MAKE) --no-print-directory -j2 $(SUITE_OUT)/suite $(whole)
	@MAKE='$(MAKE) --no-print-directory $(whole)' tests/build/summary check-build-all check-kernels \
		check-foreign-all lint check-objects-all check-generator check-fuzz check-story check-bench

lint_c = $(wildcard gen/*.c tests/*.c tests/*/*.c examples/*/*.c)
# The benchmarks' peers are libraries that a check does not need.
lint_tidy = $(filter-out tests/bench/%,$(lint_c))
lint_h = $(wildcard gen/*.h tests/*.h tests/*/*.h examples/*/*.h)
lint_sh = .ci/setup .ci/run examples/demo tests/build/run tests/build/summary tests/foreign/table \
	tests/fuzz/run tests/bench/objects tests/bench/plot
# Two written kernels, for the programs that include one.
lint_flags = -std=c11 -D_XOPEN_SOURCE=700 -Igen -Itests -Iout/lint/stories260k -Iout/lint/gpt2_small -DBUILD='"$(GEN_OUT)"' \
	-DHEADER='"stories260k.h"' -DNAME=stories260k -DUPPER=STORIES260K -DKERNEL=kernel_of_lint \
	$(shell pkg-config --cflags lua5.4 jansson libmd criterion)
lint_criterion = '-DTest(...)=void test(void)' '-DParameterizedTest(parameter, ...)=void test(parameter)' \
	'-DParameterizedTestParameters(...)=struct criterion_test_params test(void)'

lint: lint-format lint-lua lint-sh lint-cppcheck lint-tidy

lint-format:
	@echo 'clang-format, $(words $(lint_c) $(lint_h)) files'
	@clang-format --dry-run -Werror $(lint_c) $(lint_h)

lint-lua:
	luacheck -q --no-cache --no-color gen templates/isa specs tests

lint-sh:
	shellcheck $(lint_sh)

lint-cppcheck:
	@echo 'cppcheck, $(words $(lint_c)) files'
	@cppcheck --quiet --std=c11 --error-exitcode=1 --inline-suppr -j2 $(lint_criterion) \
		--enable=warning,performance,portability --suppress=missingIncludeSystem $(lint_c)

# The analyzer gives up a function after so many states; four times as many, its own choice, take three
# times as long.
LINT_NODES ?= 60000

lint-tidy: attnc
	@./attnc specs/stories260k.lua -o out/lint/stories260k >/dev/null
	@./attnc specs/gpt2-small.lua -o out/lint/gpt2_small >/dev/null
	@echo 'clang-tidy, $(words $(lint_tidy)) files'
	@printf '%s\n' $(lint_tidy) | \
		xargs -P2 -I FILE clang-tidy --quiet FILE -- $(lint_flags) \
		-Xclang -analyzer-config -Xclang max-nodes=$(LINT_NODES) 2>out/lint/log || \
		{ cat out/lint/log; exit 1; }

install: attnc
	install -D -m 755 attnc $(DESTDIR)$(PREFIX)/bin/attnc

clean:
	rm -rf out attnc

.PHONY: all setup setup-build demo check check-all install clean \
	lint lint-format lint-lua lint-sh lint-cppcheck lint-tidy
