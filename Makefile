PYTHON ?= python3
VENV := .venv
INSPECT := var/inspect
PY := $(VENV)/bin/python
RUN_ENV := DEBUG=1 TLS=0
DEMO_ENV := $(RUN_ENV) VAR_DIR='$(CURDIR)/var/demo'
LINT_ENV := env -u DATABASE_URL VAR_DIR='$(CURDIR)/var/lint'
PIP := $(PY) -m pip install --quiet --disable-pip-version-check
PYTEST := $(PY) -m pytest
# The database is the one that the target's name says, whatever the shell is set up for.
PYTEST_SQLITE := env -u DATABASE_URL -u AI_EVAL_TEST_DATABASE $(PYTEST)
# What a browser shows does not differ between databases, and its tests are the slowest.
PYTEST_POSTGRESQL := $(PYTEST_SQLITE) --database=postgresql -m "not browser"
ON_ALL_CORES := -n auto --dist worksteal

.DEFAULT_GOAL := help

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

$(VENV)/site.stamp: requirements.txt
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PIP) -r requirements.txt
	touch $@

$(VENV)/tests.stamp: $(VENV)/site.stamp tests/requirements.txt
	$(PIP) -r tests/requirements.txt
	touch $@

demo: $(VENV)/site.stamp ## two help-desk agents on six questions: no key, no server, no network
	@$(DEMO_ENV) $(PY) manage.py migrate --verbosity 0
	@$(DEMO_ENV) $(PY) manage.py riverside_demo

serve: $(VENV)/site.stamp ## the demo site with its admin at http://127.0.0.1:8000/admin/
	@$(DEMO_ENV) $(PY) manage.py migrate --verbosity 0
	@$(DEMO_ENV) $(PY) manage.py shell --no-imports -c "from django.contrib.auth.models import User; \
		raise SystemExit(not User.objects.filter(is_superuser=True).exists())" \
		|| { echo "An account for the admin:"; $(DEMO_ENV) $(PY) manage.py createsuperuser; }
	$(DEMO_ENV) $(PY) manage.py runserver

test: ## the whole suite on SQLite, then what touches the database on PostgreSQL
	@$(MAKE) --no-print-directory test-sqlite
	@$(MAKE) --no-print-directory test-postgresql

test-sqlite: $(VENV)/tests.stamp ## the whole suite on SQLite
	$(PYTEST_SQLITE) $(ON_ALL_CORES)

test-postgresql: $(VENV)/tests.stamp ## what touches the database, on a PostgreSQL out of a wheel
	$(PYTEST_POSTGRESQL) $(ON_ALL_CORES)

test-browser: $(VENV)/tests.stamp ## the admin in a real Chromium
	$(PYTEST_SQLITE) $(ON_ALL_CORES) tests/browser

test-slow: $(VENV)/tests.stamp ## every kill of a worker twenty times over, on both databases
	AI_EVAL_TEST_REPEATS=20 $(PYTEST_SQLITE) -m slow
	AI_EVAL_TEST_REPEATS=20 $(PYTEST_POSTGRESQL) -m slow

lint: $(VENV)/tests.stamp ## linter, format, types, migrations, deployment checks
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	@$(LINT_ENV) $(RUN_ENV) $(PY) manage.py makemigrations --check --dry-run --verbosity 0 \
		|| { echo "Models and migrations differ: manage.py makemigrations"; exit 1; }
	@$(LINT_ENV) DEBUG=0 TLS=1 SECRET_KEY=$$($(PY) -c 'import secrets; print(secrets.token_urlsafe(64))') \
		$(PY) manage.py check --deploy --fail-level WARNING >/dev/null

$(INSPECT)/stamp: bench/requirements-inspect.txt
	test -x $(INSPECT)/bin/python || $(PYTHON) -m venv $(INSPECT)
	$(INSPECT)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

bench: $(VENV)/site.stamp $(INSPECT)/stamp ## measures this project with its peers beside it
	$(PY) bench/measure.py

picture: $(VENV)/site.stamp ## draws docs/demo.svg from a run of the demo
	@$(DEMO_ENV) $(PY) manage.py migrate --verbosity 0
	@$(DEMO_ENV) $(PY) docs/make_picture.py

wheel: $(VENV)/tests.stamp ## builds the wheel into dist/
	$(PY) -m build --wheel --no-isolation

clean: ## removes the demo's database and all caches, keeps the virtual environment and the site's own data
	rm -rf var/demo var/lint var/browser build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

.PHONY: help demo serve test test-sqlite test-postgresql test-browser test-slow lint bench picture wheel clean
