# `make demo` and `make test` are all a newcomer needs: Python 3.11+, gcc and pip.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SOURCES := $(wildcard _native/*) setup.py pyproject.toml

.PHONY: demo test lint types package gate bench sanitize checked clean

demo: $(VENV)/demo.stamp
	@mkdir -p out
	@echo '$$ rag-eval run examples/handbook.jsonl --worst 3 --output out/handbook.json'
	@# A failed gate (exit 1) is what the example shows; anything else is a failure of make.
	@$(BIN)/rag-eval run examples/handbook.jsonl --worst 3 --output out/handbook.json \
		|| [ $$? -eq 1 ]
	@echo 'Rows with explanations and signals: out/handbook.json'

test: $(VENV)/test.stamp
	$(BIN)/python -m pytest

lint: $(VENV)/lint.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/cython-lint _native

types: $(VENV)/lint.stamp
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest rag_eval._native --concise --mypy-config-file pyproject.toml
	$(BIN)/pyright --pythonpath $(BIN)/python

# sdist -> wheel -> a clean environment, and what the wheel must not hold.
package: $(VENV)/lint.stamp
	$(BIN)/python tools/check_package.py

gate: $(VENV)/test.stamp
	$(BIN)/python -m benchmarks.gate

bench: $(VENV)/test.stamp
	$(BIN)/python -m benchmarks.write_results

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# Installed in place, so that the tests run what the tree holds.
$(VENV)/demo.stamp: $(SOURCES) | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/test.stamp: $(SOURCES) | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@ $(VENV)/demo.stamp

$(VENV)/lint.stamp: $(VENV)/test.stamp
	$(BIN)/pip install --quiet --disable-pip-version-check '.[test,lint]'
	$(BIN)/pip install --quiet --disable-pip-version-check --editable . --no-deps
	@touch $@

clean:
	rm -rf build dist out *.egg-info rag_eval/_native/*.so
