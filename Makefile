# Every target sets up what it needs in .venv first. Needs Python 3.11 or later and make, nothing else.
PYTHON ?= python3
BIN := .venv/bin
VENV := .venv/pyvenv.cfg
DEMO := .venv/.demo
READY := .venv/.ready
ENGINES := .venv/.engines
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check

.PHONY: help demo test test-fast check bench bench-scale bench-gpu accuracy margins shape audit dist docs java browser clean fuzz coverage campaign

help:             ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 12

# A new environment, whatever is installed in it later.
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

demo: $(DEMO)     ## the private mean of scikit-learn's digits, drawn in the terminal
	@$(BIN)/python examples/digits.py

test: $(ENGINES)  ## all tests; Spark's need Java, see make java, and those of pages a browser, see make browser
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

test-fast: $(ENGINES) ## the tests for daily work, in two minutes: neither clusters nor browsers nor long campaigns
	$(BIN)/python -m pytest -m "not slow" --numprocesses 2 --dist loadfile

check: $(READY)   ## style, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/windows src
	$(BIN)/lint-imports

bench: $(READY)   ## speed, memory and peers, as ratios within one run
	@$(BIN)/python -m bench

bench-scale: $(ENGINES) ## files, DuckDB, Dask and Spark, as ratios within one run; needs 8 GB of disk
	@$(BIN)/python -m bench.scale

bench-gpu: $(ENGINES) ## tensors on a CUDA device beside torch.mean; writes docs/gpu.md
	@$(BIN)/python -m bench.gpu

accuracy: $(READY) ## errors over the oracle's on many kinds of data; writes docs/accuracy.md
	@$(BIN)/python -m bench.accuracy

margins: $(READY) ## margins of error beside errors, over many kinds of rows; writes docs/results/margins.md and its picture
	@$(BIN)/python -m bench.margins --write

shape: $(READY)   ## columns of different scale, with and without a shape; writes docs/results/shape.md and its pictures
	@$(BIN)/python -m bench.shape --held --accuracy --plot docs/results

fuzz: $(ENGINES)  ## damaged files, messages, arguments and commands, and neighbours, a million of each (hours)
	$(INSTALL) --editable ".[fuzz]"
	@for target in decoders command arguments readers neighbours; do $(BIN)/python -m fuzz $$target || exit 1; done

coverage: $(ENGINES) ## lines and branches that the tests do not reach; all tests, several times as slow
	$(INSTALL) --editable ".[coverage]"
	$(BIN)/python -m coverage run -m pytest
	$(BIN)/python -m coverage report --skip-covered --show-missing

campaign: fuzz coverage ## all long campaigns: fuzzing, neighbours, coverage, kills, mutants (a day); see docs/robustness.md
	$(INSTALL) --editable ".[mutants]"
	$(BIN)/python -m bench.kills --kills 1000
	$(BIN)/python -m bench.mutants

audit: $(READY)   ## attack the mechanisms and compare with what they claim
	@$(BIN)/python -m bench.audit

dist: $(READY)    ## the wheel and the sdist, installed and tried in empty environments of every Python from 3.11 to 3.13
	@$(BIN)/python -m bench.install

docs: $(READY)    ## the site, in build/site: open build/site/index.html
	$(BIN)/python -m sphinx -W --keep-going -n -q docs build/site

java:             ## what Spark needs, from Debian's packages, if it is missing (as root)
	@command -v java >/dev/null || (apt-get update -qq && apt-get install -y -qq openjdk-17-jre-headless)

browser:          ## what tests of pages need, from Debian's packages, if it is missing (as root)
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || (apt-get update -qq && apt-get install -y -qq chromium)

clean:            ## remove what the other targets made
	rm -rf .venv .venv-* build dist results
