from django.contrib import admin

from ai_eval.admin.base import EvalAdmin
from ai_eval.models import EvalSettings
from ai_eval.permissions import ADMINISTER


@admin.register(EvalSettings)
class EvalSettingsAdmin(EvalAdmin):
    see = edit = (ADMINISTER,)
