# Every target sets up .venv first; nothing but Python >= 3.11, git, make and gcc is
# needed. `make BUILD=cpu` or `BUILD=gpu` overrides the choice of torch and vLLM builds.

BUILD ?= auto
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$p && break; done)
BIN := .venv/bin
CHECKED := rllib_gigpo environments tests scripts benchmarks tuned_examples

# One thread each: Ray runs several processes, and two threads a piece on a small
# machine are slower than one.
TEST_ENVIRONMENT := OMP_NUM_THREADS=1 RAY_USAGE_STATS_ENABLED=0

.PHONY: help setup test test-all lint types format train clean
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' Makefile | sed 's/:.*## /\t/' | expand -t 12

setup: ## create or repair .venv; does nothing when it is up to date
	@test -n "$(PYTHON)" || { echo "No Python >= 3.11 found:" \
		"make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) scripts/setup_venv.py --build $(BUILD)

lint: setup ## ruff: rules and formatting
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)

types: setup ## mypy, strict on the pure parts
	$(BIN)/mypy

# vLLM changes the process it is loaded in (threads, random state) and stumbles over
# modules that it knows nothing of, so its tests get one of their own.
VLLM_TESTS := $(shell grep -rl --include='test_*.py' 'pytest.mark.vllm' tests)

test: lint types ## everything that CI runs
	$(TEST_ENVIRONMENT) $(BIN)/python -m pytest -m "not slow and not gpu and not vllm"
	$(TEST_ENVIRONMENT) $(BIN)/python -m pytest -m "vllm and not slow and not gpu" $(VLLM_TESTS)

test-all: lint types ## also the slow tests, and those for a GPU where there is one
	$(TEST_ENVIRONMENT) $(BIN)/python -m pytest -m "not vllm"
	$(TEST_ENVIRONMENT) $(BIN)/python -m pytest -m vllm $(VLLM_TESTS)

format: setup ## rewrite the code as ruff wants it
	$(BIN)/ruff check --fix $(CHECKED)
	$(BIN)/ruff format $(CHECKED)

train: setup ## train the small household agent from nothing, on this machine's CPU
	$(BIN)/rllib train file tuned_examples/household_tiny_gigpo.py

clean: ## remove .venv and caches
	rm -rf .venv .make .mypy_cache .ruff_cache .pytest_cache .hypothesis
