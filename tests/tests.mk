# The kernel suite: writes the kernels of all specs, compiles them, and links them into one
# Criterion program, which check-kernels runs. To be set on the command line:
#   SPEC or SPECS   the specs to take instead of all
#   CC, KERNEL_CFLAGS, SUITE_OUT   another compiler or flags for the kernels, in another directory
#   SUITE_ARGS      for the program: --filter='bits/*', --verbose, ...

SUITE_OUT ?= out/build
KERNEL_CFLAGS ?= -std=c99 -O2 -Wall -Wextra -Wpedantic -Wconversion -Werror
SUITE_CFLAGS := -std=c11 -O2 -g -Wall -Wextra -Wpedantic -Wconversion -Werror
SUITE_CPPFLAGS = -D_XOPEN_SOURCE=700 -Itests -MMD -MP -DBUILD='"$(SUITE_OUT)"' \
	$(shell pkg-config --cflags criterion jansson)
SUITE_LIBS = $(shell pkg-config --libs criterion jansson) -pthread -lm

all_specs := $(sort $(wildcard specs/*.lua tests/specs/*.lua))
SPECS ?= $(or $(SPEC),$(all_specs))

# The id of a spec: its file's name, as far as C allows. It names the directory below out/ and the
# descriptor; the name in the spec is the kernel's own affair.
dash := -
spec_id = $(subst +,_,$(subst .,_,$(subst $(dash),_,$(basename $(notdir $(1))))))
kernel_ids := $(foreach spec,$(SPECS),$(call spec_id,$(spec)))
kernel_libraries := $(kernel_ids:%=$(SUITE_OUT)/kernels/%/kernel.a)
suite_objects := $(patsubst tests/%.c,$(SUITE_OUT)/tests/%.o,$(wildcard tests/*.c))

check-kernels: $(SUITE_OUT)/suite
	$(SUITE_OUT)/suite $(SUITE_ARGS)

$(SUITE_OUT)/suite: $(suite_objects) $(SUITE_OUT)/registry.o $(kernel_libraries)
	@$(CC) $(SUITE_CFLAGS) -o $@ $^ $(SUITE_LIBS)

$(suite_objects): $(SUITE_OUT)/tests/%.o: tests/%.c $(SUITE_OUT)/suite.flags
	@mkdir -p $(@D)
	@$(CC) $(SUITE_CFLAGS) $(SUITE_CPPFLAGS) -c -o $@ $<

# Every fma of the definition is written out; there must be no other.
$(SUITE_OUT)/tests/definition.o: SUITE_CFLAGS += -ffp-contract=off

# attnc leaves files alone that come out unchanged, so that only what changed is compiled.
define kernel_rule
$(SUITE_OUT)/kernels/$(2)/kernel.a: $(1) attnc tests/describe.inc tests/kernel.h tests/kernel.mk \
		$(SUITE_OUT)/suite.flags
	@echo 'kernel $(2)'
	@./attnc $(1) -o out/$(2) > /dev/null
	@+$$(MAKE) --no-print-directory -f tests/kernel.mk FROM=out/$(2) TO=$$(@D) ID=$(2) \
		CC='$$(CC)' CFLAGS='$$(KERNEL_CFLAGS)' FLAGS=$(SUITE_OUT)/suite.flags
	@touch $$@
endef
$(foreach spec,$(SPECS),$(eval $(call kernel_rule,$(spec),$(call spec_id,$(spec)))))

# Two files that change only when what is in them does.
$(SUITE_OUT)/suite.flags: text = $(CC) $(KERNEL_CFLAGS)
$(SUITE_OUT)/registry.c: text = \#include "kernel.h"\n \
	$(kernel_ids:%=extern const struct kernel kernel_%;\n) \
	const struct kernel *const kernels[] = {$(kernel_ids:%=&kernel_%,)};\n \
	const size_t kernel_count = sizeof kernels / sizeof *kernels;\n \
	const bool kernels_are_all = $(if $(filter-out $(SPECS),$(all_specs)),false,true);\n
$(SUITE_OUT)/suite.flags $(SUITE_OUT)/registry.c: FORCE
	@mkdir -p $(@D)
	@printf '%b' '$(text)' | cmp -s - $@ || printf '%b' '$(text)' > $@

$(SUITE_OUT)/registry.o: $(SUITE_OUT)/registry.c tests/kernel.h
	@$(CC) $(SUITE_CFLAGS) -Itests -c -o $@ $<

.PHONY: check-kernels

-include $(suite_objects:.o=.d)
