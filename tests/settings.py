"""The reference site's settings, with the dummy app that uses every extension point."""

import os

from tests import servers

os.environ.setdefault("SECRET_KEY", "only-for-tests-and-nowhere-else-0123456789-abcdefghij-klmnopqrst")
if "VAR_DIR" not in os.environ:
    # It goes with the session; worker processes that a test starts inherit it.
    os.environ["VAR_DIR"] = str(servers.session() / f"var-{os.getpid()}")
os.environ.setdefault("TLS", "0")

if os.environ.get("AI_EVAL_TEST_DATABASE") == "postgresql" and "DATABASE_URL" not in os.environ:
    os.environ["DATABASE_URL"] = servers.postgresql_url()

from evalsite.settings import *  # noqa: F403

INSTALLED_APPS = [*INSTALLED_APPS, "tests.dummy"]  # noqa: F405
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":  # noqa: F405
    # A file, not memory: worker threads and processes share it as they do on a site.
    DATABASES["default"]["TEST"] = {"NAME": str(VAR_DIR / "test.sqlite3")}  # noqa: F405
else:
    # A connection that outlives its thread would keep the test's database from being dropped.
    DATABASES["default"]["CONN_MAX_AGE"] = 0  # noqa: F405
AI_EVAL = {  # what a worker process is to have, too, comes from the environment
    **AI_EVAL,  # noqa: F405
    "DATASET_PATH": str(BASE_DIR / "tests" / "data"),  # noqa: F405
    "PROCESSES": 1,
    "CONCURRENCY": env.int("AI_EVAL_CONCURRENCY", default=4),  # noqa: F405
}
# A site may serve its admin under a strict policy: what does not work under one is seen in the browser tests.
MIDDLEWARE = ["tests.browser.csp.StrictPolicy", *MIDDLEWARE]  # noqa: F405
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
