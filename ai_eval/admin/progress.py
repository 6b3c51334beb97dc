from ai_eval.admin.base import EvalAdmin


class ProgressPages(EvalAdmin):
    pass
