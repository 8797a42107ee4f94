"""Replacing a file as a whole: a kill, a full disk and a loss of power leave the old content or the new one."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress


def replace_file(path: str, text: str, *, keep_mode: bool = False) -> None:
    """Put a file with this text in the place of the one at `path`. Only its user can read it, unless its mode is kept.

    Raises:
        OSError: it cannot be written; what was there is still there. It is a PermissionError if its folder may not be
            written.
    """
    folder = os.path.dirname(path) or "."
    descriptor, new = tempfile.mkstemp(".new", ".", folder)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if keep_mode:
            shutil.copymode(path, new)
        os.replace(new, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(new)
    _sync_folder(folder)


def _sync_folder(folder: str) -> None:
    """Sync the name as well. Some file systems cannot do that, and the file itself is complete."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
