"""`make recording`: the demo in a terminal of its own, drawn into docs/pictures/demo.svg.

The picture plays what a real run of `make demo` has shown, SPEED times as fast, and no pause is longer than PAUSE.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "pictures" / "demo.svg"
COLUMNS, ROWS = 150, 44
SPEED = 3
PAUSE, FRAME, LAST = 1500, 200, 8000
"""Milliseconds: the longest time of a frame, the shortest, and that of the last one."""


def recorded(command: Sequence[str], cast: Path) -> int:
    """Run a command in a terminal, write what it shows in the format asciicast 2, and give its exit code."""
    process, terminal = pty.fork()
    if process == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        os.execvp(command[0], [*command])
    began = time.monotonic()
    with cast.open("w", encoding="utf-8") as lines:
        lines.write(f"{json.dumps({'version': 2, 'width': COLUMNS, 'height': ROWS})}\n")
        while data := _read(terminal):
            os.write(1, data)
            at = (time.monotonic() - began) / SPEED
            lines.write(f"{json.dumps([at, 'o', data.decode(errors='replace')])}\n")
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _read(terminal: int) -> bytes:
    """Nothing once the command has ended: Linux then answers with an error."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def drawn(cast: Path, picture: Path) -> None:
    """Draw a recording as a picture that plays by itself."""
    times = ["-m", str(FRAME), "-M", str(PAUSE), "-D", str(LAST)]
    subprocess.run(["termtosvg", "render", str(cast), str(picture), "-t", "gjm8", *times], check=True)


def main() -> int:
    """The exit code: that of the demo. A demo that fails is not drawn."""
    with TemporaryDirectory() as folder:
        cast = Path(folder) / "demo.cast"
        code = recorded(["make", "--no-print-directory", "-C", str(ROOT), "demo"], cast)
        if code == 0:
            drawn(cast, PICTURE)
    return code


if __name__ == "__main__":
    sys.exit(main())
