# One entry to everything: `make help` lists it. A fresh machine needs Python 3.11 or newer, Java 17 or newer, and make.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help up web web-build web-check web-checks test soak check format lint types imports collect bench bench-compare bench-short bench-growth truth cluster zip wheel requirements clean python java official-client client-checks dbt
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PINS := requirements/all.txt requirements/dev.txt
BUILD_PINS := requirements/build.txt
QUICK_TESTS := $(wildcard tests/unit tests/parity tests/arch tests/docs)
PYTEST_ARGS ?=
# Three at a time on two cores, for tests wait for processes; two where three Spark sessions would have no room.
# Four take longer: they compute more than they wait.
# `make test WORKERS=0`: one by one.
WORKERS ?= $(shell cat /proc/meminfo 2>/dev/null | awk '/^MemAvailable/ {free = $$2} END {print (free > 12000000 ? 3 : 2)}')
BENCH_ARGS ?=
WEB_INSTALLED := web/node_modules/.installed
TRUTH_ARGS ?=
# Only names, versions and hashes: no registry, folder or option of this machine gets into the files.
COMPILE = $(BIN)/pip-compile --quiet --strip-extras --generate-hashes --annotation-style=line --no-header \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options

INSTALL := install --disable-pip-version-check --no-deps --require-hashes
# What builds libraries is pinned, too: pip fetches no tools of its own for that.
BUILT_HERE := --no-build-isolation

# OpenMetadata's own client, in the two versions that people have; each has its pins in requirements/.
OFFICIAL_CLIENTS := official-client official-client-2.0

help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

up: $(INSTALLED) ## Start everything with a sample company; prints an address and a login
	@$(BIN)/tocsin up

web: $(WEB_INSTALLED) ## Serve the web application, reloaded at each change, beside a running tocsin up (TOCSIN_URL)
	@cd web && npm run --silent dev

web-build: $(WEB_INSTALLED) ## Build the web application into src/tocsin/ui/static, which is committed
	@cd web && npm run --silent build

web-check: $(INSTALLED) ## Check the web application: types, lint, tests, and that the committed build is today's
	@if command -v npm >/dev/null; then $(MAKE) web-checks; else echo "Skipped: web-check needs Node 20.19 or newer."; fi

web-checks: $(WEB_INSTALLED)
	@PYTHONPATH=src:. $(BIN)/python -m tests.docs.openapi_file web/openapi.json
	@cd web && npm run --silent api >/dev/null && npm run --silent check && npm run --silent lint && npm run --silent test
	@cd web && npm run --silent build -- --outDir ../build/web --logLevel error && node build-check.mjs ../build/web ../src/tocsin/ui/static

# As the lock file pins them. Not `npm ci`: it refuses where a registry lacks what another system alone would install.
$(WEB_INSTALLED): web/package-lock.json
	@cd web && npm install --no-save --silent
	@touch $@

test: $(INSTALLED) ## Run what CI runs: every check and every test
	@$(MAKE) --jobs 2 --output-sync types format lint imports collect web-check
	@$(BIN)/pytest -n $(WORKERS) --dist loadgroup --durations 25 $(PYTEST_ARGS)

soak: $(INSTALLED) ## Run the long tests at full length: hours of kills, whole histories, every seed
	@TOCSIN_TEST_SOAK=1 $(BIN)/pytest -n $(WORKERS) --dist loadgroup -m "soak or slow" $(PYTEST_ARGS)

check: format lint types imports ## Run the quick checks: format, lint, types, imports, unit, parity, docs
	@$(BIN)/pytest $(QUICK_TESTS) $(PYTEST_ARGS)

format: $(INSTALLED) ## Say which files are not formatted
	@$(BIN)/ruff format --check --quiet .

lint: $(INSTALLED) ## Run ruff
	@$(BIN)/ruff check --quiet .

types: $(INSTALLED) ## Run mypy, strict
	@$(BIN)/mypy

imports: $(INSTALLED) ## Check who imports whom
	@$(BIN)/lint-imports

# Beside mypy, which leaves a core idle: on a fresh clone each pytest process would compile all tests for itself.
collect: $(INSTALLED) ## Compile the tests, and say which cannot be imported
	@$(BIN)/pytest --collect-only -qqq >/dev/null || $(BIN)/pytest --collect-only -qq

bench: $(INSTALLED) ## Measure, and print a table; BENCH_ARGS="--only api --scale 0.1" for a part
	@$(BIN)/python -m bench $(BENCH_ARGS)

bench-compare: $(INSTALLED) ## Measure this tree and another commit in turns; REF=v1.2 BENCH_ARGS="--only api"
	@$(BIN)/python -m bench.compare $(BENCH_ARGS) $(REF)

bench-short: $(INSTALLED) ## Compare the hot paths with another commit in five minutes; REF=main
	@$(BIN)/python -m bench.compare --short $(BENCH_ARGS) $(REF)

bench-growth: $(INSTALLED) ## Measure how costs grow with what a store holds; BENCH_ARGS="--largest 10000" for a part
	@$(BIN)/python -m bench.growth $(BENCH_ARGS)

truth: $(INSTALLED) ## Replay real changes four ways and compare who was notified with who must be; TRUTH_ARGS="--changes 300"
	@PYTHONPATH=src:. $(BIN)/python -m truth $(TRUTH_ARGS)

cluster: $(INSTALLED) ## Try docs/cluster.md on this machine: PostgreSQL, a Spark master, two workers, the pipeline
	@PYTHONPATH=src:. $(BIN)/python -m tests.acceptance.cluster_trial

official-client: $(OFFICIAL_CLIENTS:%=.%/.installed) ## Get OpenMetadata's own clients to test with: 1.13 and 2.0 (530 MB)

dbt: .dbt/.installed ## Get dbt with DuckDB, whose projects the tests run (170 MB)

client-checks: $(INSTALLED) ## Check what OpenMetadata's own clients get back; prints each check (make official-client first)
	@PYTHONPATH=src:. PYTHONWARNINGS=ignore $(BIN)/python -m tests.acceptance.official_client.client_checks

# Without its dependencies' dependencies: one of those downloads from outside the registry when it is built.
# Tests import a small part of it: compiling the rest would take as long as getting it.
$(OFFICIAL_CLIENTS:%=.%/.installed) .dbt/.installed: .%/.installed: requirements/%.txt | python
	@$(PYTHON) -m venv .$*
	@.$*/bin/pip $(INSTALL) --no-compile -r $<
	@touch $@

wheel: $(INSTALLED) ## Build the wheel into dist/
	@$(BIN)/python -m hatchling build --target wheel --directory dist

zip: wheel ## Build dist/tocsin-py-files.zip, for Spark's --py-files
	@cp dist/tocsin-*.whl dist/tocsin-py-files.zip  # a pure-Python wheel is the zip that executors import from

requirements: $(INSTALLED) ## Pin the newest versions that pyproject.toml allows, with the hashes of their files
	@$(COMPILE) --upgrade --extra server --extra spark --extra kafka --extra delta --extra pulsar \
		--output-file requirements/all.txt pyproject.toml
	@$(COMPILE) --constraint requirements/all.txt --output-file requirements/base.txt pyproject.toml
	@$(COMPILE) --constraint requirements/all.txt --extra server --output-file requirements/server.txt pyproject.toml
	@$(COMPILE) --constraint requirements/all.txt --extra spark --output-file requirements/spark.txt pyproject.toml
	@$(COMPILE) --constraint requirements/all.txt --extra kafka --output-file requirements/kafka.txt pyproject.toml
	@$(COMPILE) --constraint requirements/all.txt --extra delta --output-file requirements/delta.txt pyproject.toml
	@$(COMPILE) --constraint requirements/all.txt --extra pulsar --output-file requirements/pulsar.txt pyproject.toml
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["dev"], sep="\n")' \
		| $(COMPILE) --upgrade --constraint requirements/all.txt --no-annotate --output-file requirements/dev.txt -
	@printf '%s\n' editables hatchling setuptools wheel \
		| $(COMPILE) --upgrade --allow-unsafe --constraint requirements/dev.txt --no-annotate --output-file $(BUILD_PINS) -
	@printf '%s\n' 'dbt-core<1.12' dbt-duckdb dbt-artifacts-parser \
		| $(COMPILE) --upgrade --no-annotate --output-file requirements/dbt.txt -
	@$(foreach client,$(OFFICIAL_CLIENTS),$(BIN)/python requirements/hashes.py requirements/$(client).txt;)

clean: ## Remove what was built or installed here; tocsin-data stays
	@rm -rf $(VENV) dist build .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis spark-warehouse
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp makes the second time quick; it is made anew when the pins or pyproject.toml change.
$(INSTALLED): pyproject.toml $(PINS) $(BUILD_PINS) | java
	@echo "Installing the pinned libraries into $(VENV); the first time takes a few minutes."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip $(INSTALL) --quiet -r $(BUILD_PINS)
	@$(BIN)/pip $(INSTALL) $(BUILT_HERE) $(addprefix -r ,$(PINS))
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps $(BUILT_HERE) -e .
	@touch $@

python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo \
		"Python 3.11 or newer is needed as $(PYTHON); on Debian 12: apt-get install python3, or run make PYTHON=…" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo \
		"Python's venv module is missing; on Debian: apt-get install python3-venv" >&2; exit 1; }

java: python
	@PYTHONPATH=src PYTHONDONTWRITEBYTECODE=1 $(PYTHON) -m tocsin.cli.java
