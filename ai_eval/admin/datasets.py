from django.contrib import admin

from ai_eval.admin.base import EvalAdmin
from ai_eval.models import Dataset, Question


@admin.register(Dataset)
class DatasetAdmin(EvalAdmin):
    pass


@admin.register(Question)
class QuestionAdmin(EvalAdmin):
    pass
