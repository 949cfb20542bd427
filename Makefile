# make test    the test suite                  make lab     JupyterLab on the start page
# make check   its fast half, in a minute     make lint    layout, ruff and mypy
# make verify  every operator, headless        make soak    the full-size sweeps, into benchmarks/
# make bench   numba's loops beside PyTorch, into benchmarks/reports/bench.md
# make peers   the tests that need PyTorch, JAX, numba and the package mcp, which it installs: see SIZE
# make site    runs every lesson, and makes lessons, guides and reference a site for any host, in build/site, with its checks
# make bare    the tests that could need a browser, a Chinese font, a compiler or git, with those hidden
# make gallery the pictures of README
# make release-check   the checklist of a release: builds, installs and tries it, and leaves it in dist/
# make front    the modules of D3 that explorers draw with, as one script: needs node and a network
# make words   the catalogues of what explorers say in Chinese, brought up to date
# make lessons the outputs that the lessons are committed with, and those in Chinese (one: make lessons ONLY=04)
#
# make test PYTHON=python3.12 works with that Python; without PYTHON an existing .venv is kept.

PYTHON ?= python3
PY := .venv/bin/python

# Most of the suite is plain Python on one core; a third worker that computed would use a fifth more processor time: it
# prepares everything once more. Tests that wait for a browser or other processes have one of their own in the whole suite
# (tests/conftest.py). A file stays with one worker, and each worker has temporary directories of its own, so what a fixture
# builds is built once for a file and never by two at once. Files come as they are called: by their number of tests, the few
# long ones, such as lessons, would come last, to one worker.
WORKERS := 2
PYTEST = $(PY) -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder

# The environment remembers which Python it was asked for, so that another one makes it anew.
VENV := .venv/.made-by-$(subst /,-,$(PYTHON))
ifeq ($(origin PYTHON),file)
VENV := $(firstword $(wildcard .venv/.made-by-*) $(VENV))
endif

# Prints one line when this Python cannot make the environment.
CHECK = if ! $(PYTHON) -c "" 2>/dev/null; then \
    echo "$(PYTHON) does not run: install Python 3.11, 3.12 or 3.13, or name yours: make PYTHON=python3.12"; \
  elif ! $(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))"; then \
    echo "$(PYTHON) is too old: install Python 3.11, 3.12 or 3.13 and name it: make PYTHON=python3.12"; \
  elif ! $(PYTHON) -c "import ensurepip, venv" 2>/dev/null; then \
    echo "$(PYTHON) has no venv or ensurepip: install them (Debian and Ubuntu: apt-get install python3-venv)"; \
  fi
stop_if = $(if $(1),$(error $(1)))

.PHONY: test check lint bare bench peers lab verify soak site gallery lessons words front release-check

test: WORKERS := 3
test: .venv/.has-test
	$(PYTEST)

check: .venv/.has-test
	ACLNN_VIZ_FAST=1 $(PYTEST)

bare: .venv/.has-test
	.ci/bare

lint: .venv/.has-test
	$(PY) -m ruff format --check --quiet .
	$(PY) -m ruff check --quiet .
	$(PY) -m mypy --strict --follow-imports=silent tests/public/typed.py

peers: .venv/.has-peers
	ACLNN_VIZ_PEERS=1 $(PYTEST)

bench: .venv/.has-peers
	$(PY) benchmarks/bench.py

lab: .venv/.has-lab
	.venv/bin/aclnn-viz lab .

verify: .venv/.has-lab
	.venv/bin/aclnn-viz verify

soak: .venv/.has-test
	-ACLNN_VIZ_SOAK=1 $(PYTEST) --junitxml=build/soak.xml
	$(PY) benchmarks/soak.py build/soak.xml

# -W: a link to nowhere ends the build.
SPHINX := $(PY) -m sphinx -q -W --keep-going -c docs -d build/doctrees .
site: .venv/.has-test
	rm -rf build/site build/doctrees
	$(SPHINX) build/site & english=$$!; ACLNN_VIZ_LANG=zh $(SPHINX:doctrees=doctrees/zh) build/site/zh; chinese=$$?; wait $$english && exit $$chinese
	$(PY) -m pytest --numprocesses 2 tests/site/check_lessons.py tests/site/check_site.py

gallery: .venv/.has-test
	$(PY) -m notebooks.gallery

lessons: .venv/.has-test
	$(PY) -m notebooks.gallery.outputs $(ONLY)

front:
	cd .ci/front && npm ci --ignore-scripts --no-audit --no-fund --silent && node bundle.mjs

release-check:
	PYTHON=$(PYTHON) .ci/release-check

words: .venv/.has-test
	$(PY) -m notebooks.gallery.catalogue

.venv/.has-test: EXTRAS := test
.venv/.has-lab: EXTRAS := symbols,lab
.venv/.has-peers: EXTRAS := test,torch,jax,numba,mcp
.venv/.has-peers: SIZE := : some 390 MB, or 3 GB where PyTorch is to be had for CUDA alone, as on most x86-64 with Linux
.venv/.has-test .venv/.has-lab .venv/.has-peers: $(VENV) pyproject.toml constraints.txt
	@echo "Installing aclnn-viz[$(EXTRAS)] into .venv$(SIZE)"
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt --editable ".[$(EXTRAS)]"
	@$(PY) -W ignore -m compileall -qq -j 0 -x /tests/ .venv/lib || true  # pip would compile on one core, and tests of packages, too
	@touch $@ $(if $(filter-out %lab,$@),.venv/.has-test .venv/.has-lab)  # what tests need holds what the lab needs

$(VENV):
	$(call stop_if,$(shell $(CHECK)))
	@$(PYTHON) -m venv --clear .venv
	@touch $@
