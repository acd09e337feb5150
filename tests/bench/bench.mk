# How fast the kernels are: bench alone, bench-peers beside other libraries. To be set on the command
# line:
#   SPEC         one spec instead of those of tests/bench/specs and two whole layers
#   BENCH_ARGS   for the program: --seconds 1, --case decode, --all; see bench.c
#   CC, KERNEL_CFLAGS, SUITE_OUT   as for the kernel suite

BENCH_SPECS := $(or $(SPEC),$(sort $(wildcard tests/bench/specs/*.lua)) specs/gpt2-small.lua \
	specs/llama-3.2-1b.lua)
BENCH_OUT := out/bench
BENCH_CFLAGS := -std=c11 -O2 -g -Wall -Wextra -Wpedantic -Wconversion -Werror
BENCH_CPPFLAGS := -Itests -Itests/bench -MMD -MP

bench_ids := $(foreach spec,$(BENCH_SPECS),$(call spec_id,$(spec)))
bench_parts := $(bench_ids:%=$(SUITE_OUT)/kernels/%/parts.o)
bench_libraries := $(bench_ids:%=$(SUITE_OUT)/kernels/%/kernel.a)
bench_objects := $(patsubst %,$(SUITE_OUT)/bench/%.o,bench report machine)
peer_objects := $(bench_objects) $(patsubst %,$(SUITE_OUT)/bench/%.o,versus compose softmax openblas \
	onednn libxsmm onnxruntime)

bench: setup-bench
	@$(MAKE) --no-print-directory run-bench

run-bench: $(SUITE_OUT)/bench/bench
	@mkdir -p $(BENCH_OUT)
	@$< --out $(BENCH_OUT) $(BENCH_ARGS)
	@$(bench_plot)

bench_plot = if command -v gnuplot >/dev/null; then tests/bench/plot $(BENCH_OUT) && \
	echo 'see $(BENCH_OUT)/bench.json and $(BENCH_OUT)/*.svg'; \
	else echo 'see $(BENCH_OUT)/bench.json; no plots, since gnuplot is missing'; fi

setup-bench: out/setup-build
	-@.ci/setup gnuplot-nox

$(foreach spec,$(filter-out $(SPECS),$(BENCH_SPECS)),\
	$(eval $(call kernel_rule,$(spec),$(call spec_id,$(spec)))))

# What is not there, or cannot be installed, is named as missing when the bench runs.
PEER_PACKAGES = libopenblas0-pthread libdnnl-dev libxsmm-dev $(if $(shell command -v npm),,npm)
ONNXRUNTIME := onnxruntime-node@1.30.0
onnxruntime_library = $(firstword $(wildcard \
	$(BENCH_OUT)/node_modules/onnxruntime-node/bin/napi-v*/linux/x64/libonnxruntime.so.1))

setup-peers: setup-bench
	-@for package in $(PEER_PACKAGES); do .ci/setup $$package; done
	-@mkdir -p $(BENCH_OUT) && test -n '$(onnxruntime_library)' || { cd $(BENCH_OUT) && \
		ONNXRUNTIME_NODE_INSTALL=skip npm install --ignore-scripts --no-audit --no-fund \
		--loglevel error $(ONNXRUNTIME); }

bench-peers: setup-peers
	@$(MAKE) --no-print-directory run-bench-peers

run-bench-peers: $(SUITE_OUT)/bench/bench-peers
	@env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 \
		BENCH_ONNXRUNTIME='$(onnxruntime_library)' $< --out $(BENCH_OUT) $(BENCH_ARGS)
	@$(bench_plot)

# Debian has libxsmm as an archive: pulled in by name where it is.
libxsmm_libs = $(if $(wildcard /usr/lib/libxsmm.a /usr/lib/*/libxsmm.a),\
	-Wl$(comma)-u$(comma)libxsmm_smmdispatch -lxsmm -lxsmmnoblas)
comma := ,

$(SUITE_OUT)/bench/bench-peers: $(peer_objects) $(SUITE_OUT)/bench/registry.o $(bench_parts) \
		$(bench_libraries)
	@$(CC) $(BENCH_CFLAGS) -o $@ $^ $(libxsmm_libs) -pthread -lm -ldl

# The parts come before the libraries: each holds a dispatcher, so that the library's is left alone.
$(SUITE_OUT)/bench/bench: $(bench_objects) $(SUITE_OUT)/bench/registry.o $(bench_parts) \
		$(bench_libraries)
	@$(CC) $(BENCH_CFLAGS) -o $@ $^ -pthread -lm

# As whoever composes it would compile it.
$(SUITE_OUT)/bench/compose.o: BENCH_CFLAGS += -O3 -march=native

$(peer_objects): $(SUITE_OUT)/bench/%.o: tests/bench/%.c $(SUITE_OUT)/suite.flags
	@mkdir -p $(@D)
	@$(CC) $(BENCH_CFLAGS) $(BENCH_CPPFLAGS) -c -o $@ $<

bench_name = $(basename $(notdir $(wildcard out/$*/*.json)))
# the instruction sets' files, as ones to include and as a list
bench_sets = $(filter-out dispatch selftest scalar,$(patsubst out/$*/$(bench_name)_%.c,%,\
	$(wildcard out/$*/$(bench_name)_*.c)))
$(bench_parts): $(SUITE_OUT)/kernels/%/parts.o: $(SUITE_OUT)/kernels/%/kernel.a \
		tests/bench/parts.inc tests/bench/parts.h
	@$(CC) -std=c11 -O2 -Wall -Wextra -Werror -Itests -Itests/bench -x c \
		-include out/$*/$(bench_name)_dispatch.c \
		$(bench_sets:%=-include out/$*/$(bench_name)_%.c) \
		'-DEACH_SET(X)=$(foreach set,$(bench_sets),X($(set)))' -DID=$* -DK=$(bench_name) \
		-DN=$(shell printf '%s' '$(bench_name)' | tr a-z A-Z) -c -o $@ tests/bench/parts.inc

$(SUITE_OUT)/bench/registry.c: text = \#include "parts.h"\n \
	$(bench_ids:%=extern const struct parts parts_%;\n) \
	const struct parts *const parts[] = {$(bench_ids:%=&parts_%,)};\n \
	const size_t parts_count = sizeof parts / sizeof *parts;\n
$(SUITE_OUT)/bench/registry.c: FORCE
	@mkdir -p $(@D)
	@printf '%b' '$(text)' | cmp -s - $@ || printf '%b' '$(text)' > $@

$(SUITE_OUT)/bench/registry.o: $(SUITE_OUT)/bench/registry.c
	@$(CC) $(BENCH_CFLAGS) $(BENCH_CPPFLAGS) -c -o $@ $<

# The bench's own test, and what the compilers made of the hot loops.
check-bench: attnc out/check/test_bench
	out/check/test_bench --jobs 2

out/check/test_bench: tests/bench/test_bench.c
	@mkdir -p $(@D)
	@$(CC) $(BENCH_CFLAGS) $(shell pkg-config --cflags criterion jansson) -o $@ $< \
		$(shell pkg-config --libs criterion jansson) -lm

check-objects: attnc
	@tests/bench/objects

check-objects-all: attnc
	@tests/bench/objects --all

.PHONY: check-bench check-objects check-objects-all bench run-bench setup-bench bench-peers run-bench-peers setup-peers
-include $(peer_objects:.o=.d) $(SUITE_OUT)/bench/registry.d
