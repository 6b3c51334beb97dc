PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
RUN_ENV := DEBUG=1 TLS=0
DEMO_ENV := $(RUN_ENV) VAR_DIR=$(CURDIR)/var/demo

.DEFAULT_GOAL := help

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(VENV)/site.stamp: requirements.txt
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check -r requirements.txt
	touch $@

$(VENV)/tests.stamp: $(VENV)/site.stamp tests/requirements.txt
	$(PY) -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt
	touch $@

demo: $(VENV)/site.stamp ## two help-desk agents on six questions: no key, no server, no network
	@$(DEMO_ENV) $(PY) manage.py migrate --verbosity 0
	@$(DEMO_ENV) $(PY) manage.py riverside_demo

serve: $(VENV)/site.stamp ## the demo site with its admin at http://127.0.0.1:8000/admin/
	@$(DEMO_ENV) $(PY) manage.py migrate --verbosity 0
	$(DEMO_ENV) $(PY) manage.py runserver

test: test-sqlite test-postgresql ## the whole suite on SQLite, then what touches the database on PostgreSQL

test-sqlite: $(VENV)/tests.stamp ## the whole suite on SQLite
	$(PY) -m pytest -n auto --dist worksteal

test-postgresql: $(VENV)/tests.stamp ## what touches the database, on a PostgreSQL out of a wheel
	AI_EVAL_TEST_DATABASE=postgresql $(PY) -m pytest -n auto --dist worksteal

test-slow: $(VENV)/tests.stamp ## every kill of a worker twenty times over, on both databases
	AI_EVAL_TEST_REPEATS=20 $(PY) -m pytest -m slow
	AI_EVAL_TEST_REPEATS=20 AI_EVAL_TEST_DATABASE=postgresql $(PY) -m pytest -m slow

lint: $(VENV)/tests.stamp ## linter, format, types, migrations, deployment checks
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(RUN_ENV) VAR_DIR=$(CURDIR)/var/lint $(PY) manage.py makemigrations --check --dry-run
	SECRET_KEY=$$($(PY) -c 'import secrets; print(secrets.token_urlsafe(64))') VAR_DIR=$(CURDIR)/var/lint \
		$(PY) manage.py check --deploy --fail-level WARNING

var/inspect/bin/python: bench/requirements-inspect.txt
	$(PYTHON) -m venv var/inspect
	var/inspect/bin/python -m pip install --quiet --disable-pip-version-check -r bench/requirements-inspect.txt

bench: $(VENV)/site.stamp var/inspect/bin/python ## measures this project with its peers beside it
	$(PY) bench/measure.py

picture: $(VENV)/site.stamp ## draws docs/demo.svg from a run of the demo
	@$(DEMO_ENV) $(PY) manage.py migrate --verbosity 0
	@$(DEMO_ENV) $(PY) docs/make_picture.py

wheel: $(VENV)/tests.stamp ## builds the wheel into dist/
	$(PY) -m build --wheel

clean: ## removes databases and caches, keeps the virtual environment
	rm -rf var build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

.PHONY: help demo serve test test-sqlite test-postgresql test-slow lint bench picture wheel clean
