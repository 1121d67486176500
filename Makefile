# Each target makes the environment it needs: a bare machine with Python 3.11+, make and a C compiler is enough.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
DEMO   ?= demo

.PHONY: demo test slow lint docs bench clean

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(f"gpclass needs Python 3.11 or newer, found {sys.version.split()[0]}" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[plot,test,docs]'
	touch $@

demo: $(STAMP)
	$(BIN)/python -m gpclass.demo --out $(DEMO)

test: lint
	$(BIN)/python -m pytest -n 2 --dist loadfile

slow: $(STAMP)
	$(BIN)/python -m pytest -m slow

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(STAMP)
	$(BIN)/pdoc --math --docformat numpy --output-directory docs/_build gpclass $(addprefix gpclass.,kernels likelihoods inference hyper priors diagnostics cone \
	  posteriors calibration metrics persistence plotting datasets experiments)
	@echo "open docs/_build/gpclass.html"

bench: $(STAMP)
	for script in benchmarks/bench_*.py; do $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) $(DEMO) docs/_build
