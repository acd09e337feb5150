# The generator: ./attnc, from gen/*.c with gen/*.lua and templates/ built in as text.

GEN_OUT := out/build
GEN_CFLAGS := -std=c11 -O2 -g -Wall -Wextra -Wpedantic -Wconversion -Werror
GEN_CPPFLAGS = -D_XOPEN_SOURCE=700 -Igen -MMD -MP $(shell pkg-config --cflags lua5.4 jansson libmd)
GEN_LIBS = $(shell pkg-config --libs lua5.4 jansson libmd)

gen_objects := $(patsubst %,$(GEN_OUT)/%.o,main host output cpu toolchain)
gen_builtin := $(shell LC_ALL=C find gen templates -type f \( -name '*.lua' -o -path 'templates/*' \) \
	! -name '.*' 2>/dev/null | LC_ALL=C sort) tests/kernel.h tests/describe.inc \
	$(addprefix tests/bench/,bench.c bench.h machine.c machine.h parts.h parts.inc report.c)

attnc: $(gen_objects) $(GEN_OUT)/builtin.o
	$(CC) $(GEN_CFLAGS) -o $@ $^ $(GEN_LIBS)

$(gen_objects): $(GEN_OUT)/%.o: gen/%.c | $(GEN_OUT)
	$(CC) $(GEN_CFLAGS) $(GEN_CPPFLAGS) -c -o $@ $<

$(GEN_OUT)/builtin.o: $(GEN_OUT)/builtin.c
	$(CC) $(GEN_CFLAGS) $(GEN_CPPFLAGS) -c -o $@ $<

$(GEN_OUT)/builtin.c: $(GEN_OUT)/embed $(gen_builtin) $(GEN_OUT)/builtin.list
	$(GEN_OUT)/embed $@ $(gen_builtin)

# Changes only when a file comes or goes, so that a removed template rebuilds too.
$(GEN_OUT)/builtin.list: FORCE | $(GEN_OUT)
	@echo '$(gen_builtin)' | cmp -s - $@ || echo '$(gen_builtin)' > $@

$(GEN_OUT)/embed: gen/embed.c | $(GEN_OUT)
	$(CC) $(GEN_CFLAGS) -o $@ $<

$(GEN_OUT):
	@mkdir -p $@

.PHONY: FORCE
FORCE:

-include $(gen_objects:.o=.d) $(GEN_OUT)/builtin.d

# The tests of the command line: they run ./attnc as a user would.
test_generator := $(patsubst tests/generator/%.c,$(GEN_OUT)/generator/%.o,$(wildcard tests/generator/*.c))

check-generator: attnc $(GEN_OUT)/test_generator
	$(GEN_OUT)/test_generator --jobs 2

$(GEN_OUT)/test_generator: $(test_generator)
	$(CC) $(GEN_CFLAGS) -o $@ $^ $(shell pkg-config --libs criterion jansson)

$(test_generator): $(GEN_OUT)/generator/%.o: tests/generator/%.c
	@mkdir -p $(@D)
	$(CC) $(GEN_CFLAGS) -D_XOPEN_SOURCE=700 -MMD -MP $(shell pkg-config --cflags criterion jansson) -c -o $@ $<

.PHONY: check-generator
-include $(test_generator:.o=.d)
