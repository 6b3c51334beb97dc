from django.apps import AppConfig


class RiversideConfig(AppConfig):
    name = "evalsite.riverside"
    label = "riverside"
    verbose_name = "Riverside library"
    default_auto_field = "django.db.models.BigAutoField"
