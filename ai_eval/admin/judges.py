from django.contrib import admin

from ai_eval.admin.base import EvalAdmin
from ai_eval.models import JudgeSettings
from ai_eval.permissions import VALIDATE_JUDGES


@admin.register(JudgeSettings)
class JudgeSettingsAdmin(EvalAdmin):
    see = edit = (VALIDATE_JUDGES,)
