# The kernel suite: writes the kernels of all specs, compiles them, and links them into one
# Criterion program, which check-kernels runs. To be set on the command line:
#   SPEC or SPECS   the specs to take instead of all
#   CC, KERNEL_CFLAGS, SUITE_OUT   another compiler or flags for the kernels, in another directory
#   SUITE_ARGS      for the program: --filter='bits/*', --verbose, ...
#   KERNEL_LEVEL=-O2   the compiler's option for all of them
#   WORK_DIVISOR=4  a fourth of the work

SUITE_OUT ?= out/build
WORK_DIVISOR ?= 1
kernel_warnings := $(shell cat tests/build/strict)
KERNEL_CFLAGS ?= -std=c99 $(kernel_level) $(kernel_warnings) -fstack-usage
SUITE_CFLAGS := -std=c11 -O2 -g -Wall -Wextra -Wpedantic -Wconversion -Werror
SUITE_CPPFLAGS = -D_XOPEN_SOURCE=700 -Itests -MMD -MP -DBUILD='"$(SUITE_OUT)"' \
	$(shell pkg-config --cflags criterion jansson)
SUITE_LIBS = $(shell pkg-config --libs criterion jansson) -pthread -lm

all_specs := $(sort $(wildcard specs/*.lua tests/specs/*.lua))

# Whatever sets a spec asks for, these are tested too: all that can run on x86-64, of the shipped
# specs and of those that the foreign suite compares with.
FOREIGN_SPECS ?= specs/stories260k.lua $(patsubst %,tests/specs/t_%.lua,vdim mqa13 max1025 dim3 norm_layer)
native_sets := scalar_unfused,scalar,sse4.2,avx2,avx512
isas_of = $(if $(filter specs/%.lua $(FOREIGN_SPECS),$(1)),--isa $(native_sets))
SPECS ?= $(or $(SPEC),$(all_specs))

# Kernels are compiled as their users will, but for the hundreds of files of specs that show a feature:
# less takes half the time there, and the tests' is the same.
level_of = $(or $(KERNEL_LEVEL),$(if $(filter-out $(FOREIGN_SPECS),$(filter tests/specs/%,$(1))),-O1,-O2))

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

# The same numbers, sooner.
$(SUITE_OUT)/tests/definition.o $(SUITE_OUT)/tests/reference.o: SUITE_CFLAGS += -O3

# The intrinsics' header is a third of what many kernels take to compile: once for all of them.
$(SUITE_OUT)/intrinsics%.h.gch: private kernel_level = $*
$(SUITE_OUT)/intrinsics%.h.gch: $(SUITE_OUT)/suite.flags
	@printf '#if defined(__x86_64__)\n#include <immintrin.h>\n#endif\n' >$(@:.gch=)
	@$(CC) $(KERNEL_CFLAGS) -x c-header -o $@ $(@:.gch=)

# attnc leaves files alone that come out unchanged, so that only what changed is compiled.
define kernel_rule
$(SUITE_OUT)/kernels/$(2)/kernel.a: private kernel_level := $(call level_of,$(1))
$(SUITE_OUT)/kernels/$(2)/kernel.a: $(1) attnc tests/describe.inc tests/kernel.h tests/kernel.mk \
		$(SUITE_OUT)/suite.flags $(SUITE_OUT)/intrinsics$(call level_of,$(1)).h.gch
	@echo 'kernel $(2)'
	@./attnc $(1) $(call isas_of,$(1)) -o out/$(2) > /dev/null
	@+$$(MAKE) --no-print-directory -f tests/kernel.mk FROM=out/$(2) TO=$$(@D) ID=$(2) \
		CC='$$(CC)' CFLAGS='$$(KERNEL_CFLAGS)' FLAGS=$(SUITE_OUT)/suite.flags \
		INTRINSICS=$(SUITE_OUT)/intrinsics$(call level_of,$(1)).h
	@touch $$@
endef
$(foreach spec,$(SPECS),$(eval $(call kernel_rule,$(spec),$(call spec_id,$(spec)))))

# Two files that change only when what is in them does.
$(SUITE_OUT)/suite.flags: text = $(CC) $(KERNEL_CFLAGS) $(KERNEL_LEVEL)
$(SUITE_OUT)/registry.c: text = \#include "remote.h"\n \
	const struct foreign foreign[] = {{0}};\n \
	const size_t foreign_count = 0;\n \
	$(kernel_ids:%=extern const struct kernel kernel_%;\n) \
	const struct kernel *const kernels[] = {$(kernel_ids:%=&kernel_%,)};\n \
	const size_t kernel_count = sizeof kernels / sizeof *kernels;\n \
	const bool kernels_are_all = $(if $(filter-out $(SPECS),$(all_specs)),false,true);\n \
	const size_t work_divisor = $(WORK_DIVISOR);\n
$(SUITE_OUT)/suite.flags $(SUITE_OUT)/registry.c: FORCE
	@mkdir -p $(@D)
	@printf '%b' '$(text)' | cmp -s - $@ || printf '%b' '$(text)' > $@

$(SUITE_OUT)/registry.o: $(SUITE_OUT)/registry.c tests/kernel.h
	@$(CC) $(SUITE_CFLAGS) -Itests -c -o $@ $<

# The foreign suite: the same tests, with kernels that emulators run (tests/foreign). To be set on the
# command line: FOREIGN_SPECS; FOREIGN_ISAS, of those that have an emulator; FOREIGN_COMPILE_<arch>
# and FOREIGN_OUT, another compiler with a directory of its own; SUITE_ARGS.
FOREIGN_OUT ?= $(SUITE_OUT)/foreign
FOREIGN_ISAS ?= $(foreach row,$(FOREIGN_TABLE),$(word 1,$(subst |, ,$(row))))
FOREIGN_CFLAGS = -std=c11 -D_DEFAULT_SOURCE $(or $(KERNEL_LEVEL),-O1) -Wall -Wextra -Wpedantic -Werror -Itests
foreign_ids := $(foreach spec,$(FOREIGN_SPECS),$(call spec_id,$(spec)))
# Unless the specs are given, sets whose siblings take them all, or that this machine runs too, take two.
foreign_brief := $(if $(filter file,$(origin FOREIGN_SPECS)),sse4.2 avx2 sve128 sve512 rvv128 rvv512)
brief_ids := t_vdim t_norm_layer
row_isa = $(word 1,$(subst |, ,$(1)))
row_arch = $(word 2,$(subst |, ,$(1)))
row_ids = $(if $(filter $(foreign_brief),$(call row_isa,$(1))),$(brief_ids),$(foreign_ids))

check-foreign: attnc
	@$(MAKE) --no-print-directory -j2 run-foreign FOREIGN_TABLE='$(shell tests/foreign/table)'

ifdef FOREIGN_TABLE
# A row is isa|arch|compiler|emulator, with ~ for spaces.
foreign_rows := $(foreach row,$(FOREIGN_TABLE),$(if $(filter $(FOREIGN_ISAS),\
	$(call row_isa,$(row))),$(row)))
foreign_known := $(foreach row,$(FOREIGN_TABLE),$(call row_isa,$(row)))
$(if $(filter-out $(foreign_known),$(FOREIGN_ISAS)),$(error FOREIGN_ISAS: no emulator runs \
	$(filter-out $(foreign_known),$(FOREIGN_ISAS)); right are some of $(foreign_known)))
foreign_archs := $(sort $(foreach row,$(foreign_rows),$(call row_arch,$(row))))
foreign_compile = $(or $(FOREIGN_COMPILE_$(1)),$(subst ~, ,$(word 3,$(subst |, ,$(firstword \
	$(foreach row,$(foreign_rows),$(if $(filter $(1),$(call row_arch,$(row))),$(row))))))))
every := $(shell tests/foreign/table every)

# Every instruction set's file for every machine: what does not belong there must come out empty.
define foreign_source
$(FOREIGN_OUT)/$(2).c: $(1) attnc tests/kernel.h tests/describe.inc tests/tests.mk
	@./attnc $(1) --isa $(every) -o $(FOREIGN_OUT)/$(2) >/dev/null
	@name=$$$$(basename $(FOREIGN_OUT)/$(2)/*.json .json); printf '%s\n' \
		"#include \"$(2)/$$$$name.h\"" '#define ID $(2)' \
		"#define K $$$$name" "#define N $$$$(echo $$$$name | tr a-z A-Z)" \
		'#define KERNEL kernel_$(2)' '#include "describe.inc"' '#include "foreign/runner.c"' >$$@
endef
define foreign_runner
$(FOREIGN_OUT)/$(1)/$(2): $(FOREIGN_OUT)/$(2).c tests/foreign/runner.c tests/foreign/protocol.h \
		tests/pool.c
	@mkdir -p $$(@D)
	@if command -v $(firstword $(call foreign_compile,$(1))) >/dev/null; then \
		echo 'runner of $(2) for $(1)'; $(call foreign_compile,$(1)) $(FOREIGN_CFLAGS) -o $$@ $$< \
		$$$$(ls $(FOREIGN_OUT)/$(2)/*.c | grep -v _selftest) \
		$(if $(filter wasm32,$(1)),,-pthread tests/pool.c) -lm; \
	else echo 'no runner of $(2) for $(1): no $(firstword $(call foreign_compile,$(1)))'; fi
endef
$(foreach spec,$(FOREIGN_SPECS),$(eval $(call foreign_source,$(spec),$(call spec_id,$(spec)))))
$(foreach id,$(foreign_ids),$(foreach arch,$(foreign_archs),$(eval $(call foreign_runner,$(arch),$(id)))))
foreign_runners := $(sort $(foreach row,$(foreign_rows),\
	$(patsubst %,$(FOREIGN_OUT)/$(call row_arch,$(row))/%,$(call row_ids,$(row)))))

run-foreign: $(FOREIGN_OUT)/suite $(foreign_runners)
	$(FOREIGN_OUT)/suite $(SUITE_ARGS)

$(FOREIGN_OUT)/suite: $(suite_objects) $(FOREIGN_OUT)/registry.o \
		$(foreign_ids:%=$(SUITE_OUT)/kernels/%/kernel.a)
	@$(CC) $(SUITE_CFLAGS) -o $@ $^ $(SUITE_LIBS)

numbered = $(shell printf '%s\n' $(foreign_ids) | grep -nx $(1) | cut -d: -f1)
$(FOREIGN_OUT)/registry.c: text = \#include "remote.h"\n \
	$(foreign_ids:%=extern const struct kernel kernel_%;\n) \
	const struct kernel *const kernels[] = {$(foreign_ids:%=&kernel_%,)};\n \
	const size_t kernel_count = sizeof kernels / sizeof *kernels;\n \
	const bool kernels_are_all = false;\n \
	const size_t work_divisor = $(WORK_DIVISOR);\n \
	const struct foreign foreign[] = {\n $(foreach row,$(foreign_rows),$(foreach id,$(call row_ids,$(row)), \
	{$(call numbered,$(id)) - 1, "$(call row_isa,$(row))", \
	"$(subst ~, ,$(word 4,$(subst |, ,$(row))))", \
	"$(FOREIGN_OUT)/$(call row_arch,$(row))/$(id)"},\n))};\n \
	const size_t foreign_count = sizeof foreign / sizeof *foreign;\n
$(FOREIGN_OUT)/registry.c: FORCE
	@mkdir -p $(@D)
	@printf '%b' '$(text)' | cmp -s - $@ || printf '%b' '$(text)' > $@

$(FOREIGN_OUT)/registry.o: $(FOREIGN_OUT)/registry.c tests/kernel.h tests/remote.h
	@$(CC) $(SUITE_CFLAGS) -Itests -c -o $@ $<
endif

# Every shipped spec, and AArch64 by clang too.
check-foreign-all: attnc
	@$(MAKE) --no-print-directory check-foreign FOREIGN_OUT=$(SUITE_OUT)/foreign-all \
		FOREIGN_SPECS='$(sort $(wildcard specs/*.lua) $(FOREIGN_SPECS))'
	@$(MAKE) --no-print-directory check-foreign FOREIGN_OUT=$(SUITE_OUT)/foreign-clang \
		FOREIGN_SPECS='$(FOREIGN_SPECS)' FOREIGN_ISAS='neon sve128 sve256 sve512' \
		FOREIGN_COMPILE_aarch64='clang-19 --target=aarch64-linux-gnu -static'

.PHONY: check-kernels check-foreign check-foreign-all run-foreign

-include $(suite_objects:.o=.d)
