# Everything runs from a fresh clone: the environment is created in .venv, and again when its requirements change.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Versions are pinned so that test runs do not depend on the date. Modules are byte-compiled on first import, not all at once.
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt

# Tests start many processes; with this variable, each would compile torch's modules again (28 s instead of 9 to import
# the trainer on two cores).
unexport PYTHONDONTWRITEBYTECODE

# Tests run in WORKERS processes; all tests of a file run in the same one, so that it compiles and reads data once.
# A test that crashes its process (or hangs: see faulthandler_timeout in pyproject.toml) is not retried in a new one.
WORKERS ?= 2
PARALLEL = -n $(WORKERS) --dist loadfile --max-worker-restart 0
LOWEST := .venv-lowest

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-triton test-lowest coverage lint format bench fuzz soak numbers docs clean

help: ## list these targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

demo: $(VENV)/.demo ## set up, count the paper's graphs and a larger one, train a network that is aware of cycles
	@$(BIN)/detours demo

test: $(VENV)/.dev ## the tests and doctests, without the slow ones
	$(BIN)/python -m pytest $(PARALLEL)

test-all: $(VENV)/.dev ## all tests, including slow ones, with more examples of each property
	HYPOTHESIS_PROFILE=more $(BIN)/python -m pytest -m "slow or not slow"

test-triton: $(VENV)/.triton ## the GPU kernels in Triton's interpreter on the CPU (0.9 GB to install)
	TRITON_INTERPRET=1 $(BIN)/python -m pytest $(PARALLEL) tests/nn/fused tests/training/replicas/test_adamw.py

test-lowest: $(LOWEST)/.dev ## the tests with the lowest versions that pyproject.toml allows
	$(LOWEST)/bin/python -m pytest $(PARALLEL)

coverage: $(VENV)/.dev ## the tests of `make test`, with a coverage report and a minimum
	$(BIN)/python -m pytest $(PARALLEL) --cov=detours --cov-report=term:skip-covered

lint: $(VENV)/.dev ## ruff, mypy --strict, and the import order of the rooms
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev ## fix lint errors and format with ruff
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(VENV)/.dev ## run the benchmarks on this machine
	$(BIN)/detours bench

# Longer: make fuzz SECONDS=3600 WORKERS=16; to reproduce a run: FUZZ=--seed=N.
SECONDS ?= 60
fuzz: $(VENV)/.dev ## compare all engines with a plain search, and read changed files of every format, SECONDS each
	PYTHONPATH=. $(BIN)/python -m fuzz.differential --full --seconds $(SECONDS) --jobs $(WORKERS) $(FUZZ)
	PYTHONPATH=. $(BIN)/python -m fuzz.mutation --full --seconds $(SECONDS) --jobs $(WORKERS) $(FUZZ)

soak: $(VENV)/.dev ## kill runs at random moments for SECONDS, then resume and compare the results bit by bit
	PYTHONPATH=. $(BIN)/python -m fuzz.soak --full --seconds $(SECONDS) --jobs $(WORKERS) $(FUZZ)

numbers: $(VENV)/.dev ## update the report and the documents with the values in results/
	$(BIN)/detours report --results results
	$(BIN)/detours report --results results --update README.md --update docs/kernels.md --update docs/reproduction.md
	$(BIN)/python scripts/draw_differences.py

docs: $(VENV)/.dev ## build the site in build/docs; warnings and broken links are errors
	$(BIN)/sphinx-build -q -E -a -W --keep-going -b html docs build/docs
	@echo "Open build/docs/index.html"

clean: ## remove the environment and everything built
	rm -rf $(VENV) $(LOWEST) .coverage build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

# The stamp file is touched last, so an interrupted set-up starts again.
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

# Triton is not pinned: torch for a GPU installs the version that it requires.
$(VENV)/.triton: $(VENV)/.dev
	$(PIP_INSTALL) triton
	@touch $@

# uv can resolve to the lowest versions of direct dependencies; pip cannot.
$(LOWEST)/.dev: pyproject.toml
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct -e '.[dev]'
	@touch $@
