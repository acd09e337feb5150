# How fast the kernels are. To be set on the command line:
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
bench_objects := $(patsubst %,$(SUITE_OUT)/bench/%.o,bench machine)

bench: $(SUITE_OUT)/bench/bench
	@mkdir -p $(BENCH_OUT)
	@$< --out $(BENCH_OUT) $(BENCH_ARGS)

$(foreach spec,$(filter-out $(SPECS),$(BENCH_SPECS)),\
	$(eval $(call kernel_rule,$(spec),$(call spec_id,$(spec)))))

# The parts come before the libraries: each holds a dispatcher, so that the library's is left alone.
$(SUITE_OUT)/bench/bench: $(bench_objects) $(SUITE_OUT)/bench/registry.o $(bench_parts) \
		$(bench_libraries)
	@$(CC) $(BENCH_CFLAGS) -o $@ $^ -pthread -lm

$(bench_objects): $(SUITE_OUT)/bench/%.o: tests/bench/%.c
	@mkdir -p $(@D)
	@$(CC) $(BENCH_CFLAGS) $(BENCH_CPPFLAGS) -c -o $@ $<

bench_name = $(basename $(notdir $(wildcard out/$*/*.json)))
$(bench_parts): $(SUITE_OUT)/kernels/%/parts.o: $(SUITE_OUT)/kernels/%/kernel.a \
		tests/bench/parts.inc tests/bench/parts.h
	@$(CC) -std=c11 -O2 -Wall -Wextra -Werror -Itests -Itests/bench -x c \
		-include out/$*/$(bench_name)_dispatch.c -DID=$* -DK=$(bench_name) \
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

.PHONY: bench
-include $(bench_objects:.o=.d) $(SUITE_OUT)/bench/registry.d
