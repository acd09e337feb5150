# Random specs. To be set on the command line: N, how many; SEED, another one is other specs; FIRST,
# the number of the first; FOREIGN=1, some of them on emulators too; LEVEL=-O2; BATCH, JOBS.

N ?= 100
SEED ?= $(shell date +%s)
FIRST ?= 1

fuzz: attnc
	@+MAKE='$(MAKE) --no-print-directory' FOREIGN='$(FOREIGN)' BATCH='$(BATCH)' JOBS='$(JOBS)' \
		LEVEL='$(LEVEL)' tests/fuzz/run $(N) $(SEED) $(FIRST)

# A few that are the same each time.
check-fuzz: attnc
	@+MAKE='$(MAKE) --no-print-directory' tests/fuzz/run 9 1 1

.PHONY: fuzz check-fuzz
