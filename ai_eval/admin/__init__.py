"""The admin: pages that check, call one function, and show what it gave. Loaded by Django's autodiscovery."""

from ai_eval.admin import datasets, judges, runs, settings, targets  # noqa: F401 - each registers its models
