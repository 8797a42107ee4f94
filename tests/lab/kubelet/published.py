"""Files of a volume that change all at once, as the real kubelet writes them.

Each content has a folder of its own, `..data` is a link to the folder of now, and each file is a link into `..data`. So
a reader sees all files of one time (Kubernetes, pkg/volume/util/atomic_writer.go).
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

DATA = "..data"
_NUMBERS = itertools.count(1)

Write = Callable[[Path, bytes], None]


def publish(folder: Path, files: Mapping[str, bytes], write: Write) -> bool:
    """Make these the files of the folder; False if they are already."""
    data = folder / DATA
    if data.is_symlink() and _read(data) == files:
        return False
    before = data.resolve() if data.is_symlink() else None
    made = folder / f"..{next(_NUMBERS)}"
    for name, content in files.items():
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        write(made / name, content)
    made.mkdir(exist_ok=True)
    _point(data, made.name)
    wanted = {name.split("/")[0] for name in files}
    for name in wanted:
        if not (folder / name).is_symlink():
            _point(folder / name, f"{DATA}/{name}")
    for each in folder.iterdir():
        if not each.name.startswith("..") and each.name not in wanted:
            each.unlink()
    if before is not None:
        shutil.rmtree(before)
    return True


def _point(link: Path, target: str) -> None:
    """Make a link, or let it point elsewhere, in one step."""
    waiting = link.with_name(f"..{next(_NUMBERS)}.link")
    waiting.symlink_to(target)
    os.replace(waiting, link)


def _read(folder: Path) -> dict[str, bytes]:
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}
