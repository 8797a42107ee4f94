"""The files of the project, and the checkout seen as an installed collection.

Some tools accept a collection only in a folder named ansible_collections/stateful/upgrade: a copy for those that
resolve links (ansible-test, ansible-lint), a link for those that do not (mypy, ansible-doc, ansible-playbook).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.lab.cache import cache_root

ROOT = Path(__file__).resolve().parents[2]
COLLECTION = Path("ansible_collections", "stateful", "upgrade")
LEFT_BY_TOOLS = frozenset({"__pycache__", "output"})


def project_files(root: Path = ROOT) -> list[Path]:
    """The files that belong to the project, relative to `root`: what Git has or would add.

    If the sources are not a Git checkout, or Git is not installed, these are all files but those that tools leave
    behind, and those in hidden folders that no one commits.
    """
    if (root / ".git").exists() and shutil.which("git"):
        command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode().split("\0")
        return sorted({Path(name) for name in listed if name and (root / name).is_file()})
    return sorted(_walked(root))


def _walked(root: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in LEFT_BY_TOOLS and (name[0] != "." or name == ".ci")]
        for name in files:
            if not name.endswith((".pyc", ".tar.gz")):
                yield (Path(folder) / name).relative_to(root)


def copy_project(destination: Path, root: Path = ROOT) -> Path:
    """Copies the project's files to `destination`/ansible_collections/stateful/upgrade and gives that folder."""
    collection = destination / COLLECTION
    for name in project_files(root):
        (collection / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, collection / name)
    return collection


@contextmanager
def copied_project() -> Iterator[Path]:
    """A copy of the project in a folder of the name that tools expect, for the length of the block."""
    with tempfile.TemporaryDirectory(prefix="stateful-upgrade-") as folder:
        yield copy_project(Path(folder))


def linked_project(root: Path = ROOT) -> Path:
    """A collections path that holds one link, to the checkout. It stays the same from run to run, as caches want it."""
    path = cache_root() / f"collections-{hashlib.sha256(str(root).encode()).hexdigest()[:12]}"
    link = path / COLLECTION
    if not link.is_symlink():
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(root, target_is_directory=True)
    return path
