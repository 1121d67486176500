# Each target makes the environment it needs: a bare machine with Python 3.11+, make and a C compiler is enough.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
DEMO   ?= demo
WEB    := examples/browser/node_modules

.PHONY: demo dask-demo test slow lint docs bench clean

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(f"gpclass needs Python 3.11 or newer, found {sys.version.split()[0]}" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[plot,test,docs]'
	touch $@

demo: $(STAMP)
	$(BIN)/python -m gpclass.cli.demo --out $(DEMO)

dask-demo: $(STAMP)
	$(BIN)/python -m gpclass.cli.dask_demo

# The test of models in a browser is skipped where this cannot be installed.
$(WEB): examples/browser/package.json
	-command -v npm > /dev/null && npm install --prefix examples/browser --no-fund --no-audit --silent

test: lint $(WEB)
	OPENBLAS_NUM_THREADS=1 SCIPY_ARRAY_API=1 $(BIN)/python -m pytest -n 2 --dist loadfile

slow: $(STAMP)
	SCIPY_ARRAY_API=1 $(BIN)/python -m pytest -m slow

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(STAMP)
	$(BIN)/python -m sphinx -b html -W --keep-going -j auto -d docs/_build/doctrees docs docs/_build/html
	@echo "open docs/_build/html/index.html"

bench: $(STAMP)
	for script in benchmarks/bench_*.py; do $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) $(DEMO) $(WEB) docs/_build docs/gallery docs/api/gpclass.*.rst docs/_static/generated
