from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class AiEvalConfig(AppConfig):
    name = "ai_eval"
    verbose_name = "AI evaluation"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from ai_eval import checks  # noqa: F401 - registers the system checks

        for module in ("graders", "eval_agents", "eval_environments", "eval_datasets"):
            autodiscover_modules(module)
