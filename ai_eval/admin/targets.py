from django.contrib import admin

from ai_eval.admin.launching import LaunchPages
from ai_eval.admin.target_form import TargetFormPages
from ai_eval.admin.target_list import TargetListPage
from ai_eval.models import Target


@admin.register(Target)
class TargetAdmin(TargetListPage, LaunchPages, TargetFormPages):
    """List, form, and launching of runs, each in a file of its own."""
