from ai_eval.admin.base import EvalAdmin


class LaunchPages(EvalAdmin):
    pass
