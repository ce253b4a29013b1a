# One command does everything, from nothing but Python 3.11, pip, make and gcc.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= 2

.DEFAULT_GOAL := help
.PHONY: help demo test slow oldest mutants lint format bench rivals setup clean

help:  ## show this list
	@echo "eigenveil: differentially private PCA. Targets:"
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1|\2/' | column -t -s '|' 2>/dev/null \
	  || grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST)

$(READY): pyproject.toml constraints.txt hatch_build.py $(wildcard src/eigenveil/kernels/*.[ch])
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test,lint,dask,browser]'
	@touch $@

setup: $(READY)  ## create .venv and install everything, pinned by constraints.txt

demo: $(READY)  ## private components of handwritten digits: a table, and a report with pictures
	$(BIN)/eigenveil demo

test: $(READY)  ## set everything up and run the quick tests (all packages, all rules)
	$(BIN)/python -m pytest -n $(WORKERS)

slow: $(READY)  ## statistical and audit tests that take minutes, and the oldest versions
	$(BIN)/python -m pytest -n $(WORKERS) -m slow
	$(MAKE) oldest

mutants: $(READY)  ## plant mistakes in a copy of the tree; every one must be found by a test (table in tests/mutants)
	PYTHONPATH=tests $(BIN)/python -m mutants.run --workers $(WORKERS)

oldest:  ## the estimator's tests on the oldest versions that pyproject allows, in an environment of their own
	test -x $(VENV)-oldest/bin/python || $(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-oldest.txt -e '.[test]'
	$(VENV)-oldest/bin/python -m pytest -n $(WORKERS) tests/estimators tests/persistence -W 'ignore::DeprecationWarning'

lint: $(READY)  ## ruff, mypy strict, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(READY)  ## let ruff write the code its way
	$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format .

bench: $(READY)  ## benchmarks, as ratios; tables go to benchmarks/results
	$(BIN)/python benchmarks/sampler.py
	$(BIN)/python benchmarks/one_pass.py

rivals: $(READY)  ## eigenveil beside diffprivlib and OpenDP, which get environments of their own
	test -x $(VENV)-diffprivlib/bin/python || $(PYTHON) -m venv $(VENV)-diffprivlib
	$(VENV)-diffprivlib/bin/python -m pip install --quiet --disable-pip-version-check 'diffprivlib==0.6.6' 'scikit-learn<=1.8'
	test -x $(VENV)-opendp/bin/python || $(PYTHON) -m venv $(VENV)-opendp
	$(VENV)-opendp/bin/python -m pip install --quiet --disable-pip-version-check 'opendp==0.16.0' scikit-learn randomgen
	$(BIN)/python benchmarks/rivals.py

clean:  ## remove what make has made
	rm -rf $(VENV) $(VENV)-oldest $(VENV)-diffprivlib $(VENV)-opendp .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache demo-output
