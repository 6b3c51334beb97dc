"""Filters of a list as a row of links above it, so that a wide table keeps its width.

Use them with the template `ai_eval/change_list.html`.
"""

from django.contrib import admin

TEMPLATE = "ai_eval/filter_row.html"


class ChoicesInRow(admin.ChoicesFieldListFilter):
    template = TEMPLATE


class BooleanInRow(admin.BooleanFieldListFilter):
    template = TEMPLATE


class ListFilterInRow(admin.SimpleListFilter):
    template = TEMPLATE
