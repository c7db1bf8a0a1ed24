# Set-up, then the job: `make demo` and `make test` need nothing but Python 3.11+, git and make.
PYTHON ?= python3
BIN := .venv/bin
SETUP := .venv/.installed

.PHONY: install demo test lint format bench lock clean

install: $(SETUP)

$(SETUP): requirements.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	command -v uv >/dev/null || test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	PATH="$$PATH:$(CURDIR)/$(BIN)" VIRTUAL_ENV="$(CURDIR)/.venv" uv pip install --quiet --require-hashes -r requirements.lock
	PATH="$$PATH:$(CURDIR)/$(BIN)" VIRTUAL_ENV="$(CURDIR)/.venv" uv pip install --quiet --no-deps --no-build-isolation -e .
	touch $@

demo: $(SETUP)
	$(BIN)/rightcall demo

test: $(SETUP)
	$(BIN)/pytest

lint: $(SETUP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(SETUP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(SETUP)
	$(BIN)/python -m tests.bench

lock:
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--group dev --all-extras -o requirements.lock pyproject.toml

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis
