from django.apps import AppConfig


class AiEvalStateConfig(AppConfig):
    name = "ai_eval_state"
    verbose_name = "AI evaluation: database state"
    default_auto_field = "django.db.models.BigAutoField"
