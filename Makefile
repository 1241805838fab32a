# Every target sets up what it needs: a fresh machine with Python 3.11, make and git is enough.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
OUT ?= demo-out
# Tests run on all cores; two processes at least.
WORKERS ?= auto

.PHONY: setup demo test check bench docs clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(STAMP)

demo: setup
	$(BIN)/sfumato demo --out $(OUT)

test: setup
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadgroup -q

check: setup
	$(BIN)/ruff check src tests benchmarks examples docs
	$(BIN)/ruff format --check src tests benchmarks examples docs
	$(BIN)/pyright

bench: setup
	$(BIN)/python benchmarks/counting.py

docs: setup
	$(BIN)/python docs/build.py

clean:
	rm -rf $(VENV) $(OUT) benchmarks/out docs/_site
