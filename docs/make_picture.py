"""`make picture`: runs the demo on a terminal and draws what it shows as docs/demo.svg."""

import fcntl
import io
import os
import pty
import re
import struct
import sys
import termios
from pathlib import Path

from rich.console import Console
from rich.text import Text

COLUMNS, ROWS = 112, 60
HERE = Path(__file__).resolve().parent
# A progress bar redraws itself: what it erases is not part of the picture.
REDRAWN = re.compile(r"\x1b\[\?25l.*?\x1b\[\?25h|\x1b\[\d*[AK]|\r", re.DOTALL)


def shown(command: list[str]) -> str:
    """What the command writes to a terminal of this size."""
    child, terminal = pty.fork()
    if child == 0:
        os.execvp(command[0], command)  # noqa: S606 - our own command
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    written = io.BytesIO()
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # how Linux says that the other side has ended
            break
        if not piece:
            break
        written.write(piece)
    os.waitpid(child, 0)
    return written.getvalue().decode()


def main() -> None:
    text = REDRAWN.sub("", shown([sys.executable, "manage.py", "riverside_demo"]))
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(text))
    # Without the fonts that it would fetch: a page of ours asks nobody else for anything.
    drawn = re.sub(r"@font-face \{.*?\}\s*", "", console.export_svg(title="make demo"), flags=re.DOTALL)
    (HERE / "demo.svg").write_text(drawn)


if __name__ == "__main__":
    main()
