# SPDX-License-Identifier: GPL-3.0-or-later
"""mypy over plugins and tests, under the names that Ansible imports them by: `python -m tests.checks.mypy_strict`."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.checks.tree import COLLECTION, ROOT, linked_project


def main() -> int:
    """Runs mypy; gives its exit code."""
    collections = linked_project()
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "--no-error-summary"]
    command += ["--cache-dir", str(ROOT / ".mypy_cache"), "-p", ".".join((*COLLECTION.parts, "plugins")), "-p", "tests"]
    environment = {**os.environ, "MYPYPATH": str(collections)}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False, text=True, stdout=subprocess.PIPE)
    print(done.stdout.replace(f"{collections / COLLECTION}/", ""), end="")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
