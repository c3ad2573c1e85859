# The verbs of this repository. Each installs what it needs and runs in seconds what is already there.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PY := .venv/bin/python
SANDBOX := $(PY) -m sandbox
# Processes of `make e2e`, each with a sandbox of its own. Three are faster on two cores, and need
# `sysctl fs.inotify.max_user_instances=512`.
WORKERS ?= 2

.PHONY: help tour demo test check unit e2e bench sandbox sandbox-down release docs site lock bootstrap mutants chaos minors

help: ## this list
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

bootstrap:
	@bin/bootstrap

tour: bootstrap ## a minute, without cluster or Go (uvx --from . stateward tour needs less): the operator upgrades a cluster in memory while a node is lost
	@.venv/bin/stateward tour

demo: bootstrap ## the main job, live: a real OpenSearch upgraded under load, on a real Kubernetes on this machine
	@$(PY) -m demo

test: check ## everything that must pass: check, unit, simulation, integration, e2e spine
	@echo "==> unit and simulation (10 to 20 minutes)"
	@$(PY) -m pytest tests/unit tests/simulation -n 2
	@echo "==> integration, end-to-end spine (about 25 minutes)"
	@$(PY) -m pytest tests/integration tests/e2e -m "not full" -n $(WORKERS) --dist loadfile

check: bootstrap ## format, lint, types, import contracts, generated files, words of the docs, known weaknesses
	@echo "==> format"; .venv/bin/ruff format --check --quiet . || { echo "not formatted: run .venv/bin/ruff format ."; exit 1; }
	@echo "==> lint"; .venv/bin/ruff check --quiet .
	@echo "==> types (a minute or two)"; .venv/bin/basedpyright --level error
	@echo "==> import contracts"; .venv/bin/lint-imports --no-cache --no-logo || { echo "an import points the wrong way: see above"; exit 1; }
	@echo "==> generated files"; $(PY) -m release.generated --check && $(PY) -m stateward.cli.reference --check
	@echo "==> words of the docs"; $(PY) -m release.prose
	@echo "==> docs site and its links"; NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --quiet --strict --site-dir .artifacts/site
	@echo "==> known weaknesses of dependencies"; $(PY) -m release.audit

unit: bootstrap ## the fast suites only: unit and simulation
	@$(PY) -m pytest tests/unit tests/simulation

e2e: bootstrap ## all end-to-end cases, with real databases; RESUME=1 leaves out those that passed on this commit
	@$(PY) -m pytest tests/e2e -n $(WORKERS) --dist loadfile

minors: bootstrap ## the integration suite on the API server of each supported minor version of Kubernetes
	@for minor in 1.35 1.36 1.37; do echo "==> Kubernetes $$minor"; \
	    STATEWARD_KUBERNETES=$$minor $(PY) -m pytest tests/integration -n 2 --dist loadfile || exit 1; done

mutants: bootstrap ## break decisions of planning and operator for five minutes, and list those that no unit test notices
	@$(PY) -m tests.mutants --seed $(or $(SEED),0)

chaos: bootstrap ## random real faults and edits on a real cluster for HOURS (6); SEED repeats the schedule
	@$(PY) -m tests.chaos --hours $(or $(HOURS),6) --seed $(or $(SEED),1)

bench: bootstrap ## measurements, with the machine's description
	@$(PY) -m bench

sandbox: bootstrap ## a throw-away real Kubernetes with three nodes on this machine
	@$(SANDBOX) up

sandbox-down: bootstrap ## end it and leave nothing
	@$(SANDBOX) down

release: bootstrap ## what a release consists of, in dist/: wheel, chart, bundle, bill of materials, provenance (IMAGE=1: the image)
	@$(PY) -m release $(if $(IMAGE),--image)

docs: bootstrap ## generate the CRDs, the plain manifests and the reference pages
	@$(PY) -m release.generated
	@$(PY) -m stateward.cli.reference

site: bootstrap ## the docs as a site with search, in dist/site
	@NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --quiet --strict
	@echo "python3 -m http.server -b 127.0.0.1 -d dist/site   serves it, with search"

lock: bootstrap ## renew the hashed locks from pyproject.toml
	@.venv/bin/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 requirements/bootstrap.in -o requirements/bootstrap.lock
	@.venv/bin/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 pyproject.toml -o requirements/runtime.lock
	@.venv/bin/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 pyproject.toml --group dev -c requirements/runtime.lock -o requirements/dev.lock
	@.venv/bin/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 requirements/build.in -c requirements/dev.lock -o requirements/build.lock
	@.venv/bin/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 requirements/supply.in -o requirements/supply.lock
