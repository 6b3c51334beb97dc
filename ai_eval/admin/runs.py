from django.contrib import admin

from ai_eval.admin.progress import ProgressPages
from ai_eval.admin.run_list import RunListPage
from ai_eval.admin.run_page import RunPages
from ai_eval.models import Run


@admin.register(Run)
class RunAdmin(RunListPage, ProgressPages, RunPages):
    """List, progress, and result pages, each in a file of its own."""
