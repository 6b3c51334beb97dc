from ai_eval.admin.base import EvalAdmin


class TargetListPage(EvalAdmin):
    pass
