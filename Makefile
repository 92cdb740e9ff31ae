# Every target first sets up an environment in .venv. It needs only make and Python 3.11 or later.
PYTHON ?= python3
BIN := .venv/bin
VENV := .venv/pyvenv.cfg
DEMO := .venv/.demo
READY := .venv/.ready
ENGINES := .venv/.engines
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check

.PHONY: help demo test test-fast check bench bench-scale bench-gpu accuracy margins shape audit dist docs java browser clean fuzz coverage campaign

help:             ## list all targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 12

# A new environment, without packages.
$(VENV):
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "dpmean needs Python 3.11 or later, found " + sys.version.split()[0])'
	$(PYTHON) -m venv .venv

$(DEMO): pyproject.toml | $(VENV)
	$(INSTALL) --editable ".[sklearn]"
	@touch $(DEMO)

$(READY): pyproject.toml | $(VENV)
	$(INSTALL) --editable ".[dev]"
	@touch $(READY) $(DEMO)

$(ENGINES): $(READY)
	$(INSTALL) --editable ".[dev,engines]"
	@touch $(ENGINES)

demo: $(DEMO)     ## draw the private mean of scikit-learn's digits in the terminal
	@$(BIN)/python examples/digits.py

test: $(ENGINES)  ## run all tests; some need Java and a browser: make java browser
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

test-fast: $(ENGINES) ## run the tests for daily work, without clusters, browsers and long campaigns
	$(BIN)/python -m pytest -m "not slow" --numprocesses 2 --dist loadfile

check: $(READY)   ## check style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/windows src
	$(BIN)/lint-imports

bench: $(READY)   ## measure speed, memory and other libraries
	@$(BIN)/python -m bench

bench-scale: $(ENGINES) ## measure files, DuckDB, Dask and Spark; needs 8 GB of disk space
	@$(BIN)/python -m bench.scale

bench-gpu: $(ENGINES) ## measure tensors on a CUDA device against torch.mean; writes docs/gpu.md
	@$(BIN)/python -m bench.gpu

accuracy: $(READY) ## measure errors against an oracle on many kinds of data; writes docs/accuracy.md
	@$(BIN)/python -m bench.accuracy

margins: $(READY) ## measure the coverage of margins of error; writes docs/results/margins.md and its plot
	@$(BIN)/python -m bench.margins --write

shape: $(READY)   ## measure errors with columns of different scale; writes docs/results/shape.md and its plots
	@$(BIN)/python -m bench.shape --held --accuracy --plot docs/results

fuzz: $(ENGINES)  ## fuzz readers, decoders, arguments, the command and neighbours, a million runs each (hours)
	$(INSTALL) --editable ".[fuzz]"
	@for target in decoders command arguments readers neighbours; do $(BIN)/python -m fuzz $$target || exit 1; done

coverage: $(ENGINES) ## run all tests and list lines and branches that they do not reach (slow)
	$(INSTALL) --editable ".[coverage]"
	$(BIN)/python -m coverage run -m pytest
	$(BIN)/python -m coverage report --skip-covered --show-missing

campaign: fuzz coverage ## run all long campaigns: fuzzing, coverage, kills, mutants (a day); see docs/robustness.md
	$(INSTALL) --editable ".[mutants]"
	$(BIN)/python -m bench.kills --kills 1000
	$(BIN)/python -m bench.mutants

audit: $(READY)   ## attack the mechanisms, and compare the findings with the claimed budgets
	@$(BIN)/python -m bench.audit

dist: $(READY)    ## build the wheel and the sdist, and test each in empty environments of Python 3.11 to 3.13
	@$(BIN)/python -m bench.install

docs: $(READY)    ## build the site: open build/site/index.html
	$(BIN)/python -m sphinx -W --keep-going -n -q docs build/site

java:             ## install Java for Spark from Debian's packages, if it is missing (as root)
	@command -v java >/dev/null || (apt-get update -qq && apt-get install -y -qq openjdk-17-jre-headless)

browser:          ## install a browser for the tests of pages from Debian's packages, if it is missing (as root)
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || (apt-get update -qq && apt-get install -y -qq chromium)

clean:            ## remove everything that other targets made
	rm -rf .venv .venv-* build dist results
