from ai_eval.admin.base import EvalAdmin


class RunListPage(EvalAdmin):
    pass
