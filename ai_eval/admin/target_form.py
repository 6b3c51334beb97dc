from ai_eval.admin.base import EvalAdmin


class TargetFormPages(EvalAdmin):
    pass
