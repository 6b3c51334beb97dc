from ai_eval.admin.base import EvalAdmin


class RunPages(EvalAdmin):
    pass
