#!/usr/bin/env python
"""Django's command line. A site that does not start makes an `ai_eval_*` command exit 2, not 1.

Exit code 1 is a promise to CI jobs: a hard gate failed. Django itself exits 1 for a broken
settings file or an app that can't be imported, so this file starts the site first.
"""

import os
import sys
import traceback


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
    if len(sys.argv) > 1 and sys.argv[1].startswith("ai_eval_"):
        try:
            import django

            django.setup()
        except Exception:  # noqa: BLE001 - whatever keeps the site from starting is wrong configuration
            traceback.print_exc()
            sys.stderr.write("The site does not start, see above.\n")
            sys.exit(2)
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
