"""`manage.py ai_eval_config export [FILE]`, `manage.py ai_eval_config import FILE… [--check]`."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from ai_eval.configuration.exporting import export_configuration
from ai_eval.configuration.importing import Report, import_configuration
from ai_eval.datasets.files import read_document
from ai_eval.errors import ConfigurationError, EvalError
from ai_eval.management.site import check_site
from ai_eval.wording import bounded

EXIT_WRONG_USE = 2


class Command(BaseCommand):
    help = (
        "Export everything that the admin configures as YAML, or import it: all or nothing. "
        "Exits 0 when it is done (with --check: when it is valid), 2 on wrong use or an invalid document."
    )
    # Checked in `handle`: Django's own way exits 1.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="export|import")
        export = actions.add_parser("export", help="write the configuration")
        export.add_argument("file", nargs="?", help="where to; without it, to standard output")
        bring = actions.add_parser("import", help="bring configurations in")
        bring.add_argument("files", nargs="+", metavar="FILE", help="a YAML or JSON document")
        bring.add_argument("--check", action="store_true", help="only tell what would change")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            check_site(self)
            if options["action"] == "export":
                self.export(options["file"])
            else:
                self.bring_in(options["files"], options["check"])
        except EvalError as error:
            for problem in error.problems:
                self.stderr.write(self.style.ERROR(problem))
            sys.exit(EXIT_WRONG_USE)

    def export(self, file: str | None) -> None:
        text = export_configuration()
        if file is None:
            self.stdout.write(text, ending="")
            return
        try:
            Path(file).write_text(text, encoding="utf-8", newline="\n")
        except OSError as error:
            raise ConfigurationError(f"{file} can't be written: {error.strerror}") from error

    def bring_in(self, files: list[str], check_only: bool) -> None:
        documents = []
        problems: list[str] = []
        for file in files:
            try:
                documents.append((file, read_document(Path(file), file)))
            except EvalError as error:
                problems += error.problems
        if problems:
            raise ConfigurationError(bounded(problems))
        self.tell(import_configuration(documents, check_only), check_only)

    def tell(self, report: Report, check_only: bool) -> None:
        would = "would be " if check_only else ""
        for change in report.changes:
            if change.action != "unchanged":
                keys = f": {', '.join(change.keys)}" if change.keys else ""
                self.stdout.write(f"{would}{change.action} {change.kind} {change.id}".rstrip() + keys)
        for warning in report.warnings:
            self.stderr.write(self.style.WARNING(f"warning: {warning}"))
        counts = (len(report.created), len(report.changed), len(report.unchanged))
        self.stdout.write(f"{counts[0]} {would}created, {counts[1]} {would}changed, {counts[2]} unchanged")
