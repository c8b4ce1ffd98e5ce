# Everything sets itself up: `make drill` and `make test` work in a fresh clone.
.DEFAULT_GOAL := help
.PHONY: help setup drill test unit drills faults rotating bench measure check layouts format package lock java-lock clean

BIN := .venv/bin
# Neither addresses of registries nor paths of a machine get into a lock.
LOCK := UV_SYSTEM_CERTS=1 .venv/bin/uv pip compile --quiet --generate-hashes --python-version 3.11 --no-emit-index-url --no-header

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Java, .venv with the locked packages, Java parts; costs nothing when nothing changed
	@scripts/setup

drill: setup ## rehearse the loss of a data centre, with real servers on this machine
	@$(BIN)/dcctl drill topologies/active-passive.yaml

test: setup ## all tests, those with real servers included
	@$(BIN)/python -m pytest -n 2 --dist loadfile

unit: setup ## the tests that take seconds
	@$(BIN)/python -m pytest -n auto -m "not integration and not drill and not drills"

bench: setup ## measure what is promised in figures
	@$(BIN)/python -m tests.bench

drills: setup ## every sabotage, layout and loss, with real servers: hours, in parts (ARGS="--list")
	@$(BIN)/python -m tests.parts $(ARGS)

faults: setup ## what is killed in the middle: dcctl in each phase, a site that returns by itself; in parts
	@$(BIN)/python -m tests.parts $(ARGS) tests/faults

rotating: setup ## one part of drills and faults, another with each commit; a failure counts if it is new
	@$(BIN)/python -m tests.rotating

measure: setup ## how much code there is, and what stands twice (ARGS="--json", ARGS="--beside before.json")
	@$(BIN)/python -m scripts.measure $(ARGS)

check: setup ## format, lint, types, layers
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/mypy scripts
	@$(BIN)/lint-imports

layouts: setup ## draw the example topologies anew, and the page that shows them
	@$(BIN)/python scripts/layouts.py

format: setup ## put the code into its form
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

package: setup ## sdist and wheel into dist/, by what is installed: no network
	@rm -rf dist
	@$(BIN)/uv build --quiet --offline --no-build-isolation --python $(BIN)/python --out-dir dist .
	@ls dist

lock: setup ## bring the locks in line with pyproject.toml (ARGS="--upgrade-package rich" for newer ones)
	@$(LOCK) --extra dev $(ARGS) pyproject.toml -o requirements.lock
	@printf 'setuptools\nuv\n' | $(LOCK) --no-annotate $(ARGS) - -o requirements-bootstrap.lock

java-lock: setup ## resolve the Java parts anew
	@$(BIN)/python -m orchestrator.adapters.java.resolve

clean: ## remove .venv and everything that tools have left here; the user's caches stay
	@rm -rf .venv .make build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
