# Compiles the files that attnc wrote for one spec, with their descriptor, into a library.
#   FROM, TO   directories of the written files and of the products
#   ID         the descriptor's name; CC, CFLAGS; FLAGS: a file that changes with them
#   INTRINSICS the precompiled header of x86-64's, which only what needs it gets

name := $(basename $(notdir $(wildcard $(FROM)/*.json)))
ifneq ($(words $(name)),1)
$(error $(FROM) must hold the files of one spec: remove it and try again)
endif
NAME := $(shell printf '%s' '$(name)' | tr a-z A-Z)
objects := $(patsubst $(FROM)/%.c,$(TO)/%.o,$(filter-out %_selftest.c,$(wildcard $(FROM)/*.c)))

$(TO)/kernel.a: $(objects) $(TO)/describe.o
	@rm -f $@
	@$(AR) rc $@ $^

$(objects): $(TO)/%.o: $(FROM)/%.c $(FROM)/$(name).h $(FLAGS)
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) $(if $(filter %_scalar.c %_unfused.c %_dispatch.c,$<),,-include $(INTRINSICS)) \
		-c -o $@ $<

$(TO)/describe.o: tests/describe.inc tests/kernel.h $(FROM)/$(name).h $(FLAGS)
	@mkdir -p $(@D)
	@$(CC) -std=c11 -O2 -Wall -Wextra -Werror -Itests -x c -include $(FROM)/$(name).h \
		-DID=$(ID) -DK=$(name) -DN=$(NAME) -c -o $@ $<
