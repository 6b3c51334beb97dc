"""The reference site with the benchmark's agent and grader."""

from evalsite.settings import *  # noqa: F403

INSTALLED_APPS = [*INSTALLED_APPS, "bench.noop"]  # noqa: F405
ALLOWED_HOSTS = ["testserver"]  # Django's own client, which measures the pages
SECURE_SSL_REDIRECT = False
