"""`manage.py ai_eval_graders`: the graders of this site, their scales, and what each one sees."""

import json
from argparse import ArgumentParser
from dataclasses import dataclass
from typing import Any

from django.core.management.base import BaseCommand
from rich.box import SIMPLE
from rich.table import Table
from rich.text import Text

from ai_eval.graders import GraderInfo, registry
from ai_eval.graders.scale import describe_scale
from ai_eval.management.terminal import console_for

HEADINGS = ("id", "label", "kind", "scale", "sees", "needs")


@dataclass(frozen=True)
class CatalogueEntry:
    """A grader as the catalogue tells it."""

    info: GraderInfo

    @property
    def kind(self) -> str:
        return "judge" if self.info.llm else "deterministic"

    @property
    def sees(self) -> list[str]:
        """What it looks at beside question, response and criteria."""
        told = {
            "tool calls": self.info.sees_tool_calls,
            "observes actions": self.info.observes_actions,
            "environment": self.info.needs_environment,
        }
        return [name for name, there in told.items() if there]

    @property
    def needs(self) -> list[str]:
        """What a target or a question has to bring."""
        return [
            *(["a judge model"] if self.info.llm else []),
            *(["an environment"] if self.info.needs_environment else []),
            *(f"metadata.{key}" for key in self.info.reads_metadata),
        ]

    def cells(self) -> list[str]:
        scale = describe_scale(self.info.min_score, self.info.max_score)
        id = f"{self.info.id} (hidden)" if self.info.hidden else self.info.id
        return [id, self.info.label, self.kind, scale, ", ".join(self.sees), ", ".join(self.needs)]

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.info.id,
            "label": self.info.label,
            "description": self.info.description,
            "kind": self.kind,
            "dimension": self.info.dimension or None,
            "min_score": self.info.min_score,
            "max_score": self.info.max_score,
            "sees": self.sees,
            "needs": self.needs,
            "hidden": self.info.hidden,
        }


class Command(BaseCommand):
    help = "List the graders of this site: kind, scale, what each sees and needs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print the catalogue as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        entries = [CatalogueEntry(info) for info in registry.all(include_hidden=True)]
        if options["json"]:
            document = {"graders": [entry.to_json() for entry in entries]}
            self.stdout.write(json.dumps(document, ensure_ascii=False, indent=2))
        elif self.stdout.isatty():
            self.print_table(entries)
        else:
            self.print_columns(entries)

    def print_table(self, entries: list[CatalogueEntry]) -> None:
        table = Table(box=SIMPLE, padding=(0, 1, 0, 0))
        for heading in HEADINGS:
            table.add_column(heading, overflow="fold", no_wrap=heading in ("id", "kind"))
        for entry in entries:
            style = "dim" if entry.info.hidden else ""
            table.add_row(*(Text(cell, style) for cell in entry.cells()))
        console_for(self.stdout).print(table)

    def print_columns(self, entries: list[CatalogueEntry]) -> None:
        """One line for each grader, never wrapped, so that lines can be searched."""
        rows = [list(HEADINGS), *(entry.cells() for entry in entries)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            self.stdout.write("  ".join(padded).rstrip())
