# Every target sets up what it needs: a fresh machine with Python 3.11, 3.12 or 3.13, make and git is enough.
PYTHON ?= $(firstword $(foreach version,3.11 3.12 3.13,\
	$(shell python$(version) --version >/dev/null 2>&1 && echo python$(version))) python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
OUT ?= demo-out
# Tests run on all cores; two processes at least.
WORKERS ?= auto
# Byte code is kept, whatever the shell says: the many processes of the tests would each compile the package again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup demo quick test thorough siege slow-list smoke extras dist check bench docs clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(STAMP)

demo: setup
	$(BIN)/sfumato demo --out $(OUT)

test: setup
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadgroup -q -m "not thorough"

# Exhaustive sweeps, long audits and full fuzz, which 'make test' leaves out (tests/thorough.txt).
thorough: setup
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadgroup -q -m thorough tests

# The inner loop: everything that was measured to take less than half a CPU second.
quick: setup
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadgroup -q -m "not slow and not thorough" --ignore=src

# Hostile command lines, concurrent spends, kills and full disks, in one table; at most 15 minutes. PARTS="spends kills" takes some.
PARTS ?=
siege: setup
	PYTHONPATH=tests $(BIN)/python -m siege $(PARTS)

# Measures tests anew and writes tests/slow.txt. All of them take somewhat longer than 'make test'; TESTS=tests/cli takes part.
TESTS ?= tests
slow-list: setup
	WORKERS=$(WORKERS) $(BIN)/python tests/slow_list.py $(TESTS)

# Installs the wheel under each supported Python, where it is, with all that it needs; releases and verifies there.
smoke: setup
	$(BIN)/python tests/packaging/smoke.py

# Asks the package index whether every extra resolves to wheels on each supported Python; installs nothing.
extras: setup
	$(BIN)/python tests/packaging/extras.py

dist: setup
	rm -rf dist
	$(BIN)/python -m hatchling build

check: setup
	$(BIN)/ruff check src tests benchmarks examples docs
	$(BIN)/ruff format --check src tests benchmarks examples docs
	$(BIN)/pyright

bench: setup
	$(BIN)/python benchmarks/counting.py

# The site in docs/_site: pages, API and command line from the code, notebooks. Nothing is fetched.
docs: setup
	PYTHONPATH=docs $(BIN)/python -m website

clean:
	rm -rf $(VENV) $(OUT) benchmarks/out dist docs/_site
