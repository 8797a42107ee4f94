"""The servers of monitoring as Debian packages them, unpacked into the cache. Nothing is installed on the machine."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.lab.cache import cache_root, exclusive
from tests.lab.errors import LabError

PACKAGES = ("prometheus", "prometheus-alertmanager", "prometheus-pushgateway")


def programs() -> Path:
    """The folder of the programs in the cache."""
    return cache_root() / "monitoring" / "usr" / "bin"


def ensure_unpacked(tell: Callable[[str], None] = print) -> Path:
    """The folder of the programs, which are fetched first if this machine has none yet.

    Raises:
        LabError: the packages cannot be had.
    """
    found = programs()
    whole = found.parents[1]
    if not found.exists():
        with exclusive(whole.with_suffix(".lock")):
            if not found.exists():
                tell(f"fetching {', '.join(PACKAGES)} of Debian, once per machine")
                _unpack(whole)
    return found


def _unpack(whole: Path) -> None:
    with tempfile.TemporaryDirectory(dir=whole.parent) as place:
        folder = Path(place)
        try:
            _run(["apt-get", "download", *PACKAGES], folder)
        except LabError:
            _run(["apt-get", "update"], folder)
            _run(["apt-get", "download", *PACKAGES], folder)
        for package in folder.glob("*.deb"):
            _run(["dpkg-deb", "--extract", package.name, "unpacked"], folder)
        os.rename(folder / "unpacked", whole)


def _run(command: Sequence[str], folder: Path) -> None:
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        said = str(getattr(error, "stderr", "") or error).strip()
        raise LabError(f"The servers of monitoring cannot be fetched with {command[0]}: {said}") from error
