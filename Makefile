# Everything sets up what it needs in .venv on a machine that has Python >= 3.11 and nothing else.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check --quiet


.PHONY: demo docs test test-all lint long studies extras browser oldest bench gate scores quality clean

# Six real views of handwritten digits, fused, in a minute or two from nothing.
demo: $(VENV)/.core
	$(BIN)/consilience demo --out consilience-demo --force

# Two processes, each with a file of tests at a time; what looks at the clock runs alone.
PYTEST = -m pytest --numprocesses 2 --dist loadfile
TIMED = tests/inspection/test_cost.py tests/engines/test_threads.py
NOT_TIMED = $(TIMED:%=--ignore %)

# A long study of scores, on data that a stranger does not have.
STUDIES = tests/test_paper_grid.py

# The core, as a stranger would install it, and its tests.
test: $(VENV)/.test
	$(BIN)/python $(PYTEST) -m "not long" $(STUDIES:%=--ignore %) $(NOT_TIMED)
	$(BIN)/python -m pytest $(TIMED)

# Tests that take some seconds each.
long: $(VENV)/.test
	$(BIN)/python $(PYTEST) -m long tests

# Of PyTorch one version, so that all runs test the same: the newest is TORCH=torch.
TORCH = torch==2.13.0

# Everything: what `test` runs, then lint and types, longer tests, studies, what needs extras, pages in a browser, docs, demo, the oldest
# versions promised.
test-all: test lint long studies extras browser docs demo oldest

lint: $(VENV)/.lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The studies themselves: that they run, and their scores next to the authors' programs.
studies: $(VENV)/.test
	$(BIN)/python $(PYTEST) benchmarks/tests

# Pages of the documentation that ran without extras need not run again. Of PyTorch one thread in each process: more would wait for each other.
extras: $(VENV)/.extras $(VENV)/.docs
	OMP_NUM_THREADS=1 $(BIN)/python $(PYTEST) tests/engines/torch src/consilience/engines/torch tests/views/test_device_arrays.py
	OMP_NUM_THREADS=1 $(BIN)/python $(PYTEST) -m "not long" -k torch tests/engines/test_engines.py tests/engines/points
	$(BIN)/python $(PYTEST) -m "not long" -k "not test_the_blocks_of_a_page_run or omics or engines" tests/omics tests/views/test_views.py tests/views/test_graph_views.py tests/io/readers tests/stages/test_label.py tests/test_cli.py tests/test_docs.py tests/reproduction tests/pages/test_reproduction.py tests/commands/test_reproduce.py tests/inspection/test_plots.py $(STUDIES)

# Pages in the browser that CONSILIENCE_BROWSER names; without it, these tests skip.
browser: $(VENV)/.browser
	$(BIN)/python -m pytest tests/browser

# The documentation, without network, into docs/_build/html.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -q -d docs/_build/doctrees docs docs/_build/html

# Without studies, pages, data and golden outputs: our own golden files tell whether versions change numbers.
oldest: $(VENV)-oldest/.done
	env -u CONSILIENCE_DATA -u CONSILIENCE_GOLDEN $(VENV)-oldest/bin/python $(PYTEST) -p no:cacheprovider -m "not long" $(STUDIES:%=--ignore %) --ignore tests/test_docs.py $(NOT_TIMED)

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks.speed

# The tree next to the frozen baseline: speed, memory, digests of every fit, scores; ten minutes.
gate: $(VENV)/.test
	$(BIN)/python -m benchmarks.gate

# Scores of the comparison systems next to their authors' programs; some minutes.
scores: $(VENV)/.test
	$(BIN)/python -m benchmarks.scores

# The fair bench: every system, and a few on corrupted data, on all data sets of CONSILIENCE_DATA, tuning and validation apart.
# Hours; killed, the same command goes on where it stopped. Results of other code are not used.
quality: $(VENV)/.test
	$(BIN)/python -m benchmarks.quality --out build/quality

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "consilience needs Python 3.11 or newer; try: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml | $(VENV)/bin/python
	$(PIP) install --editable .
	touch $@

$(VENV)/.test: pyproject.toml | $(VENV)/bin/python
	$(PIP) install --editable '.[test]'
	touch $@

$(VENV)/.lint: pyproject.toml | $(VENV)/.test
	$(PIP) install --editable '.[test,lint]'
	touch $@

$(VENV)/.extras: pyproject.toml | $(VENV)/.test
	$(PIP) install $(TORCH)
	$(PIP) install --editable '.[test,all,friends,gpu]'
	touch $@

$(VENV)/.browser: pyproject.toml | $(VENV)/.test
	$(PIP) install --editable '.[test,all,friends,browser]'
	touch $@

$(VENV)/.docs: pyproject.toml | $(VENV)/.test
	$(PIP) install --editable '.[test,docs]'
	touch $@

$(VENV)-oldest/.done: pyproject.toml requirements-oldest.txt
	$(PYTHON) -m venv --clear $(VENV)-oldest
	$(VENV)-oldest/bin/python -m pip --disable-pip-version-check --quiet install --constraint requirements-oldest.txt --editable '.[test]'
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-oldest build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
