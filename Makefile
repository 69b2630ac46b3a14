# Two commands are enough: `make demo` and `make test`. Each does its own set-up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
PIP := $(BIN)/pip --disable-pip-version-check --quiet
PYTEST_ARGS ?= -n auto -q

.PHONY: setup demo test lint image docker bench generate wheel lock clean

setup: $(STAMP)

$(STAMP): requirements.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --require-hashes -r requirements.txt
	$(PIP) install --no-deps --no-build-isolation -e .
	touch $@

demo: setup
	$(BIN)/codemode demo

# Brings a Docker daemon up where this user may (see .ci/docker); succeeds either way.
docker: setup
	-@.ci/docker start

image: setup
	$(BIN)/codemode image build

# With Docker the container engine is tested, and not being able to is a failure.
# Narrow it with make test PYTEST_ARGS='tests/core -q'.
test: setup docker
	@if $(BIN)/python .ci/answers.py; then \
	  $(BIN)/codemode image build && CODEMODE_REQUIRE_DOCKER=1 $(BIN)/pytest $(PYTEST_ARGS); \
	else \
	  echo "No Docker daemon answers: the container engine is not tested here."; \
	  $(BIN)/pytest $(PYTEST_ARGS); \
	fi

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codemode generate --check --strict

generate: setup
	$(BIN)/codemode generate --strict

bench: setup
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

wheel: setup
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .

lock: setup
	$(BIN)/uv pip compile --universal --generate-hashes --python-version 3.11 --no-emit-index-url \
	  --custom-compile-command "make lock" --all-extras --group dev pyproject.toml -o requirements.txt

clean:
	rm -rf $(VENV) dist build
