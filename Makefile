# Everything runs from a bare clone: the environment is made in .venv once, and again when what it is made of changes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Unpinned versions would make a test run depend on its date. Modules are byte-compiled when first imported, not all at once.
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt

# Tests start many processes: where this is set, each compiles torch anew (28 s to import the trainer, not 9, on two cores).
unexport PYTHONDONTWRITEBYTECODE

# Tests run in as many processes as WORKERS says; each file stays in one process, so that it compiles and reads data once.
# A test that ends its process (or hangs: see faulthandler_timeout in pyproject.toml) is not tried again in a new one.
WORKERS ?= 2
PARALLEL = -n $(WORKERS) --dist loadfile --max-worker-restart 0
LOWEST := .venv-lowest

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-triton test-lowest coverage lint format bench fuzz soak numbers docs clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

demo: $(VENV)/.demo ## set up, count the paper's graphs and a larger one, train a network that sees cycles
	@$(BIN)/detours demo

test: $(VENV)/.dev ## the tests and doctests, without the slow ones
	$(BIN)/python -m pytest $(PARALLEL)

test-all: $(VENV)/.dev ## every test, the slow ones too, and more examples of each property
	HYPOTHESIS_PROFILE=more $(BIN)/python -m pytest -m "slow or not slow"

test-triton: $(VENV)/.triton ## the kernels of a GPU, run by Triton's interpreter on the CPU (0.9 GB to install)
	TRITON_INTERPRET=1 $(BIN)/python -m pytest $(PARALLEL) tests/nn/fused tests/training/replicas/test_adamw.py

test-lowest: $(LOWEST)/.dev ## the tests with the lowest versions that pyproject.toml allows
	$(LOWEST)/bin/python -m pytest $(PARALLEL)

coverage: $(VENV)/.dev ## the tests of `make test`, with a report of the lines they run, and a floor
	$(BIN)/python -m pytest $(PARALLEL) --cov=detours --cov-report=term:skip-covered

lint: $(VENV)/.dev ## ruff, mypy --strict, and the order of the rooms
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev ## let ruff fix what it can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(VENV)/.dev ## the ratios of benchmarks/, on this machine
	$(BIN)/detours bench

# Longer: make fuzz SECONDS=3600 WORKERS=16; the same again: FUZZ=--seed=N.
SECONDS ?= 60
fuzz: $(VENV)/.dev ## counts of all engines against a plain search, and changed files of every format, SECONDS each
	PYTHONPATH=. $(BIN)/python -m fuzz.differential --full --seconds $(SECONDS) --jobs $(WORKERS) $(FUZZ)
	PYTHONPATH=. $(BIN)/python -m fuzz.mutation --full --seconds $(SECONDS) --jobs $(WORKERS) $(FUZZ)

soak: $(VENV)/.dev ## kill -9 at random moments for SECONDS, then resume and compare the bits
	PYTHONPATH=. $(BIN)/python -m fuzz.soak --full --seconds $(SECONDS) --jobs $(WORKERS) $(FUZZ)

numbers: $(VENV)/.dev ## write the numbers of results/ into the report and the documents that print them
	$(BIN)/detours report --results results
	$(BIN)/detours report --results results --update README.md --update docs/kernels.md --update docs/reproduction.md
	$(BIN)/python scripts/draw_differences.py

docs: $(VENV)/.dev ## the site, in build/docs; a warning or a link that leads nowhere is an error
	$(BIN)/sphinx-build -q -E -a -W --keep-going -b html docs build/docs
	@echo "Open build/docs/index.html"

clean: ## remove the environment and everything built
	rm -rf $(VENV) $(LOWEST) .coverage build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

# The stamp is touched last, so an interrupted set-up starts over.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("detours needs Python 3.11 or newer; run: make PYTHON=/path/to/python3.11")'
	@echo "Setting up $(VENV) …"
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP_INSTALL) -e '.[kernels,torch,viz]'
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP_INSTALL) -e '.[dev]'
	@touch $(VENV)/.demo $@

# No version of ours: torch for a GPU brings the one it wants.
$(VENV)/.triton: $(VENV)/.dev
	$(PIP_INSTALL) triton
	@touch $@

# uv knows how to resolve to the lowest versions of direct dependencies; pip does not.
$(LOWEST)/.dev: pyproject.toml
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct -e '.[dev]'
	@touch $@
