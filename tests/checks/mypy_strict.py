"""mypy over plugins and tests, under the names that Ansible imports them by: `python -m tests.checks.mypy_strict`.

A role and an extension may ship a program of their own. Its files import each other by names of their own, so mypy
runs once more for each.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.checks.tree import COLLECTION, ROOT, linked_project

PROGRAMS = ("roles/restart/files", "extensions/cluster_api")


def checked(targets: Sequence[str], searched: Path, shown_as: str) -> int:
    """Runs mypy over some sources and prints its objections; gives its exit code."""
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "--no-error-summary"]
    command += ["--cache-dir", str(ROOT / ".mypy_cache"), *targets]
    environment = {**os.environ, "MYPYPATH": str(searched)}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False, text=True, stdout=subprocess.PIPE)
    print(done.stdout.replace(shown_as, ""), end="")
    return done.returncode


def main() -> int:
    """Runs mypy; gives its exit code."""
    collections = linked_project()
    packages = ["-p", ".".join((*COLLECTION.parts, "plugins")), "-p", "tests"]
    codes = [checked(packages, collections, f"{collections / COLLECTION}/")]
    codes += [checked([program], ROOT / program, "") for program in PROGRAMS]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
