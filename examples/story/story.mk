# The story example: a trained model, its layers written by attnc. `make story` runs it.

STORY_OUT := out/story
STORY_KERNEL := $(STORY_OUT)/stories260k
STORY_CFLAGS := -std=c11 -O2 -g -Wall -Wextra -Wpedantic -Wconversion -Werror
# The model's data for the test, where there are any: a copy of the checkpoint, its tokenizer and the
# numbers that it must give.
STORY_DATA ?= ../shared/stories260k

story: out/setup-build
	@$(MAKE) --no-print-directory $(STORY_OUT)/story >&2
	@if [ -f '$(MODEL)' ] && [ -f '$(TOKENIZER)' ]; then \
		$(STORY_OUT)/story $(if $(ISA),--isa $(ISA)) '$(MODEL)' '$(TOKENIZER)'; \
	else \
		echo 'make story MODEL=stories260K.bin TOKENIZER=tok512.bin [ISA=avx2]' >&2; \
		echo 'Both files are on Hugging Face: karpathy/tinyllamas, directory stories260K.' >&2; \
		exit 1; \
	fi

check-story: $(STORY_OUT)/story $(STORY_OUT)/story_test
	@if [ -f '$(STORY_DATA)/expected.json' ]; then \
		$(STORY_OUT)/story_test $(STORY_OUT)/story '$(STORY_DATA)'; \
	else \
		echo 'skip: there are no $(STORY_DATA)/stories260K.bin, tok512.bin and expected.json'; \
		echo '0 passed, 0 failed, 1 skipped'; \
	fi

$(STORY_KERNEL)/stories260k.h: attnc specs/stories260k.lua
	@./attnc specs/stories260k.lua -o $(STORY_KERNEL)
	@touch $@

# As specs/stories260k.lua names its instruction sets.
story_sources = $(addprefix $(STORY_KERNEL)/stories260k_,dispatch.c scalar.c avx2.c avx512.c) \
	examples/story/llama.c

$(STORY_OUT)/story: examples/story/story.c examples/story/llama.c examples/story/llama.h \
		$(STORY_KERNEL)/stories260k.h
	$(CC) $(STORY_CFLAGS) -I$(STORY_KERNEL) -o $@ $< $(story_sources) -lm

$(STORY_OUT)/story_test: examples/story/story_test.c examples/story/llama.c examples/story/llama.h \
		$(STORY_KERNEL)/stories260k.h
	$(CC) $(STORY_CFLAGS) -D_XOPEN_SOURCE=700 -I$(STORY_KERNEL) $$(pkg-config --cflags jansson) \
		-o $@ $< $(story_sources) -lm $$(pkg-config --libs jansson)

.PHONY: story check-story
