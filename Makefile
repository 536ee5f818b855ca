# Every target sets up what it needs: a Python 3.11 or newer with pip is all that must be there.
# Works with GNU make 3.81 and newer.

PYTHON ?= python3
BIN := .venv/bin
SOURCES := $(wildcard shared services cli tests scripts benchmarks examples deploy)

# The first of these that is new enough; a pyenv shim may be on PATH and still not run.
find_python := for candidate in $(PYTHON) python3.14 python3.13 python3.12 python3.11; do \
	if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	then echo "$$candidate"; break; fi; done

define bootstrap
@python=$$($(find_python)); \
if [ -z "$$python" ]; then echo "Muster needs Python 3.11 or newer: install it, or name it with make PYTHON=..." >&2; exit 1; fi; \
"$$python" scripts/bootstrap.py $(1)
endef

.DEFAULT_GOAL := help
.PHONY: help runtime dev demo demo-clean test lint format types imports check docs bench-queue requirements clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z%-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

runtime:
	$(call bootstrap,runtime)

dev:
	$(call bootstrap,dev)

demo: runtime  ## run a small cluster with jobs on this machine, and show what happens
	@$(BIN)/muster demo $(ARGS)

demo-clean: runtime  ## stop the demo and delete its state
	@$(BIN)/muster demo --clean

test: dev  ## run the tests; ARGS="tests/runtime -k adopt" narrows
	@$(BIN)/python -m pytest $(ARGS)

lint: dev  ## style and common mistakes
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/ruff format --check $(SOURCES)

format: dev  ## rewrite the code in the one style
	@$(BIN)/ruff check --fix-only --quiet $(SOURCES)
	@$(BIN)/ruff format $(SOURCES)

types: dev  ## mypy, strict
	@$(BIN)/mypy $(wildcard shared/src services/*/src cli/src tests scripts) $(wildcard benchmarks/*.py examples/*.py deploy/*.py)

imports: dev  ## the layers: who may import whom
	@$(BIN)/lint-imports --no-logo

check: lint types imports test  ## all four

docs: dev  ## generate the reference pages
	@$(BIN)/python scripts/generate_docs.py $(ARGS)
	@$(BIN)/python scripts/nats_permissions.py $(ARGS)

bench-%: dev  ## run one benchmark, such as bench-log or bench-diagnose
	@$(BIN)/python benchmarks/$(subst -,_,$*).py $(ARGS)

bench-queue: dev  # not queue.py: a script of that name would hide the standard library's module
	@$(BIN)/python benchmarks/queues.py $(ARGS)

requirements: dev  ## compile requirements/*.in again; ARGS="--upgrade-package ruff" moves one pin
	@cd requirements && for name in virtualenv build runtime report dev; do \
		../$(BIN)/uv pip compile $$name.in --output-file $$name.txt --generate-hashes --universal \
			--python-version 3.11 --no-emit-index-url --no-header --no-annotate --quiet $(ARGS); done

clean:  ## delete the environment and every cache
	rm -rf .venv .tools .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist
	find $(SOURCES) -name __pycache__ -type d -prune -exec rm -rf {} +
