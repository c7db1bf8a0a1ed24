# `make install` is the set-up. It, `make demo` and `make test` need nothing but Python 3.11+, git and make.
PYTHON ?= python3
BIN := .venv/bin
SETUP := .venv/.installed
.DEFAULT_GOAL := install

.PHONY: help install all test lint format coverage mutants fuzz truth demo bench bench-growth bench-console peers wheel lock clean

help: ## List these targets
	@sed -nE 's/^([a-z]+):.*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 12

install: $(SETUP) ## Make .venv with all that is needed to run, test and lint (the default)

$(SETUP): requirements.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	command -v uv >/dev/null || test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	PATH="$$PATH:$(CURDIR)/$(BIN)" VIRTUAL_ENV="$(CURDIR)/.venv" uv pip install --quiet --require-hashes -r requirements.lock
	PATH="$$PATH:$(CURDIR)/$(BIN)" VIRTUAL_ENV="$(CURDIR)/.venv" uv pip install --quiet --no-deps --no-build-isolation -e .
	touch $@

all: lint test ## Lint and test: what a change must pass

test: $(SETUP) ## Run the tests
	$(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder

lint: $(SETUP) ## Check style, formatting, types and import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(SETUP) ## Format the code and mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

coverage: $(SETUP) ## Run the tests and fail below the coverage floor of pyproject.toml
	$(BIN)/pytest --cov --cov-report=term-missing

mutants: $(SETUP) ## Change the core in about 4,000 places and list the changes that no test notices (about an hour)
	$(BIN)/mutmut run
	$(BIN)/mutmut results

fuzz: $(SETUP) ## Search for inputs that reach new code and keep them as tests (an hour, Linux)
	PATH="$$PATH:$(CURDIR)/$(BIN)" VIRTUAL_ENV="$(CURDIR)/.venv" uv pip install --quiet --group fuzz
	$(BIN)/python -m tests.fuzz_coverage 720

truth: $(SETUP) ## Take evidence away from the recorded runs and count confidently wrong verdicts (35 minutes)
	$(BIN)/python -m tests.truth

demo: $(SETUP) ## Replay recorded agent runs and watch their scores
	$(BIN)/rightcall demo

bench: $(SETUP) ## Measure throughput, latency and memory, next to the peers of `make peers`; parts: PARTS="spool latency"
	$(BIN)/python -m tests.bench $(PARTS)

bench-growth: $(SETUP) ## Print how costs grow with rules, series, agents, turns and open traces (minutes)
	$(BIN)/python -m tests.bench.growth
	$(BIN)/python -m tests.bench.open_traces

bench-console: $(SETUP) ## Print how long each page of the console takes with a full store (about 2 minutes)
	$(BIN)/python -m tests.bench.console

PEERS := .bench/peers

peers: wheel ## Put what `make bench` compares with into .bench/peers: the compiled build, and with Go and network other collectors
	$(PYTHON) -m venv --clear $(PEERS)/compiled
	PATH="$$PATH:$(CURDIR)/$(BIN)" uv pip install --quiet --python $(PEERS)/compiled/bin/python --constraint requirements.lock "$$(echo dist/*.whl)[kafka]"
	cd tests/bench/otelcol && CGO_ENABLED=0 go build -mod=mod -trimpath -ldflags '-s -w' -o $(CURDIR)/$(PEERS)/otelcol .
	$(PYTHON) -m venv --clear $(PEERS)/rotel
	$(PEERS)/rotel/bin/pip install --quiet rotel

wheel: export RIGHTCALL_COMPILE ?= $(if $(shell command -v cc),1,0)
wheel: $(SETUP) ## Build the wheel into dist/, its hot modules compiled (minutes) if there is a C compiler; RIGHTCALL_COMPILE=0: not
	PATH="$$PATH:$(CURDIR)/$(BIN)" VIRTUAL_ENV="$(CURDIR)/.venv" uv build --quiet --wheel --no-build-isolation

LOCK := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header

lock: ## Pin the newest versions that fit into requirements.lock, and into deploy/build.lock for the image
	$(LOCK) --group dev --all-extras -o requirements.lock pyproject.toml
	$(LOCK) --group pyproject.toml:image --constraint requirements.lock -o deploy/build.lock

clean: ## Remove what the other targets made
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage dist mutants
