# SPDX-License-Identifier: MIT
# Needs Python >= 3.11, a C++17 compiler, make and git. Everything else goes into .venv.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

export UV_PYTHON_DOWNLOADS := never
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
PIP := $(UV) pip install --quiet --python $(BIN)/python

# A distribution is a folder with a pyproject.toml: found, never listed.
DISTRIBUTIONS := $(sort $(patsubst %/pyproject.toml,%,$(wildcard plugins/*/pyproject.toml plugins/*/*/pyproject.toml examples/*/pyproject.toml)))
PROJECTS := pyproject.toml $(addsuffix /pyproject.toml,$(DISTRIBUTIONS))
NATIVE := CMakeLists.txt $(wildcard native/*.cpp native/*.hpp native/*.h)
# One with a CMakeLists.txt has a native module of its own: `package` is its folder of Python files, `module` its file below .venv.
COMPILED := $(sort $(patsubst %/CMakeLists.txt,%,$(wildcard plugins/*/CMakeLists.txt)))
package = rocketride_$(notdir $1)
module = $(VENV)/.native-$(notdir $1)
PACKAGES = $(wildcard $(addsuffix /rocketride_*,$(DISTRIBUTIONS)))
PROGRAMS := $(wildcard examples/*.py)

.PHONY: help demo test quick lint types stub bench peers nightly wheels docs requirements setup clean native-test

help: ## This list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1|/p' $(MAKEFILE_LIST) | column -t -s '|'

# --- setting up -------------------------------------------------------------------------------------------------------

$(BIN)/python:
	@python="$(PYTHON)"; \
	works() { "$$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }; \
	if [ -z "$$python" ]; then \
	  for candidate in python3 python3.13 python3.12 python3.11 python; do \
	    if works $$candidate; then python=$$candidate; break; fi; \
	  done; \
	elif ! works "$$python"; then \
	  echo "make: $$python is not a Python 3.11 or newer" >&2; exit 1; \
	fi; \
	if [ -z "$$python" ]; then \
	  echo "make: no Python 3.11 or newer on PATH (tried python3, python3.13, python3.12, python3.11, python)." >&2; \
	  echo "      Install one, or say which: make PYTHON=/path/to/python3" >&2; exit 1; \
	fi; \
	echo "making $(VENV) with $$($$python --version) ($$python)"; \
	"$$python" -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "make: '$$python -m venv' failed; on Debian and Ubuntu it needs: apt install python3-venv" >&2; exit 1; }

# uv's own pin, with its hashes, is a stanza of requirements.txt like any other.
$(UV): | $(BIN)/python
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip >/dev/null
	@awk '/^uv==/ { on = 1; print; next } on && /^[[:space:]]/ { print; next } { on = 0 }' requirements.txt > $(VENV)/uv.txt
	@$(BIN)/python -m pip install --quiet --require-hashes --requirement $(VENV)/uv.txt

$(VENV)/.requirements: requirements.txt | $(UV)
	@echo "installing what requirements.txt pins"
	@$(PIP) --no-deps --require-hashes --requirement requirements.txt
	@touch $@

# Editable: tests see the tree, and a module is built again only when a native source changes. The import hook that
# scikit-build-core installs costs every start of Python 12 ms, so the module moves into the tree and a plain path stays.
# $1 is the folder, $2 the package.
define compile
	@echo "building $2._native"
	@PATH="$(abspath $(BIN)):$$PATH" $(PIP) --no-deps --no-build-isolation --reinstall-package $(subst _,-,$2) \
	  --config-settings cmake.define.ROCKETRIDE_WERROR=ON --editable $1
	@site=$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))'); \
	mv "$$site"/$2/_native*.so $1/$2/; \
	rm -r "$$site"/_editable_skbc_$2.py "$$site"/$2; \
	echo "$(abspath $1)" > "$$site"/_editable_skbc_$2.pth
endef

$(VENV)/.core: pyproject.toml $(NATIVE) $(VENV)/.requirements
	$(call compile,.,rocketride_core)
	@touch $@

define compiled
$(call module,$1): $1/pyproject.toml $1/CMakeLists.txt $(wildcard $1/native/*.cpp $1/native/*.hpp) $(VENV)/.requirements
	$$(call compile,$1,$(call package,$1))
	@touch $$@
endef
$(foreach folder,$(COMPILED),$(eval $(call compiled,$(folder))))

$(VENV)/.plugins: $(PROJECTS) | $(VENV)/.core
	@echo "installing $(words $(DISTRIBUTIONS)) distributions of the workspace, each on its own"
	@$(PIP) --no-deps --no-build-isolation $(addprefix --editable ,$(filter-out $(COMPILED),$(DISTRIBUTIONS)))
	@touch $@

setup: $(VENV)/.requirements $(VENV)/.core $(foreach folder,$(COMPILED),$(call module,$(folder))) $(VENV)/.plugins ## Make .venv ready: pinned packages, core, every plugin

# --- using ------------------------------------------------------------------------------------------------------------

demo: setup ## Index documents and answer questions from them
	@$(BIN)/python examples/demo.py

test: setup ## Every test: core, plugins, examples
	@$(BIN)/pytest

# What waits for clocks and processes by its nature, or goes through hundreds of files, is left out whole, though each single test of it is short.
AT_LENGTH := timed_tools cli lifecycle cli_chat agent_examples acceptance_pipes fuzz verdicts shared_pipes stores_alike graph_layout graph_command model \
  formatting docs langgraph_example llm_providers

quick: setup ## Unit tests without the slow ones, and ruff: under a minute
	@$(BIN)/ruff check
	@$(BIN)/pytest -q -m "not slow" tests $(patsubst %,--ignore tests/test_%.py,$(AT_LENGTH))

lint: setup types ## ruff, formatting, types
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

types: setup
	@$(BIN)/mypy rocketride_core $(PACKAGES) $(PROGRAMS)

bench: setup ## Our speed beside the peers that are installed (make peers)
	@$(BIN)/python -m benchmarks

peers: setup ## Install what benchmarks compare with
	@$(PIP) --constraint <(grep -v '^ ' requirements.txt | sed 's/ \\$$//') --group peers

nightly: setup ## The slow tests, repeated with another hash seed, and the benchmarks
	@PYTHONHASHSEED=0 $(BIN)/pytest -m slow
	@PYTHONHASHSEED=1 $(BIN)/pytest
	@$(BIN)/python -m benchmarks

wheels: setup ## Wheels of core and of every distribution, into dist/
	@rm -rf dist
	@PATH="$(abspath $(BIN)):$$PATH" $(UV) build --quiet --wheel --no-build-isolation --python $(BIN)/python --out-dir dist .
	@for folder in $(DISTRIBUTIONS); do \
	  $(UV) build --quiet --wheel --no-build-isolation --python $(BIN)/python --out-dir dist $$folder; \
	done
	@rm -f dist/.gitignore
	@ls -l dist

docs: setup ## The book, into build/site; a broken link or snippet is an error
	@said=$$($(BIN)/mkdocs build --strict --site-dir build/site 2>&1) || { echo "$$said"; exit 1; }
	@echo "build/site/index.html"

# --- keeping up -------------------------------------------------------------------------------------------------------

stub: setup ## Write each _native.pyi anew from its module
	@stub() { \
	  $(BIN)/python -m nanobind.stubgen -q -m "$$2._native" "$${@:3}" -o build/_native.pyi; \
	  { echo "# SPDX-License-Identifier: MIT"; cat build/_native.pyi; } > build/_native.stub; \
	  mv build/_native.stub "$$1/$$2/_native.pyi"; \
	}; \
	stub . rocketride_core -p native/types.pat; \
	$(foreach folder,$(COMPILED),stub $(folder) $(call package,$(folder));)

native-test: $(VENV)/.requirements ## native/tests, without Python; SANITIZE=address,undefined or thread
	@build=build/native-tests-$$(tr , - <<< "$(or $(SANITIZE),plain)"); export PATH="$(abspath $(BIN)):$$PATH"; \
	cmake -S native/tests -B $$build -G Ninja -DSANITIZE=$(SANITIZE) >/dev/null; \
	cmake --build $$build --parallel 2; \
	ctest --test-dir $$build --output-on-failure

requirements: $(UV) ## Compile requirements.txt from every pyproject.toml
	@$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
	  --group dev $(foreach project,$(PROJECTS),$(project) --no-emit-package $(shell sed -n 's/^name = "\(.*\)"/\1/p' $(project) | head -n 1)) \
	  --output-file requirements.txt

clean: ## Remove all that was made, .venv included
	@rm -rf $(VENV) build dist $(addsuffix /build,$(COMPILED))
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
