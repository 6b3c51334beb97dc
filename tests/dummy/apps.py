from django.apps import AppConfig


class DummyConfig(AppConfig):
    name = "tests.dummy"
    label = "dummy"
    default_auto_field = "django.db.models.BigAutoField"
