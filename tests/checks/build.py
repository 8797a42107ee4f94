# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the collection and looks into the archive: `python -m tests.checks.build`.

Users get what runs, what describes it and what licenses it; the workshop (tests, tool settings) stays at home.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Collection
from pathlib import Path

from tests.checks.tree import copied_project

DELIVERED = frozenset(
    [
        "CHANGELOG.md",
        "CHANGELOG.rst",
        "FILES.json",
        "LICENSE",
        "MANIFEST.json",
        "README.md",
        "changelogs",
        "docs",
        "extensions",
        "meta",
        "playbooks",
        "plugins",
        "roles",
    ]
)
"""What may stand at the top of the archive."""

NEEDED = frozenset({"LICENSE", "MANIFEST.json", "README.md", "meta/runtime.yml"})


def problems(names: Collection[str]) -> list[str]:
    """What is wrong with an archive of these files, one sentence each."""
    extra = sorted({name.split("/")[0] for name in names} - DELIVERED)
    missing = sorted(NEEDED - set(names))
    return [
        *(
            f"The archive holds {name}, which users do not need: add it to build_ignore in galaxy.yml."
            for name in extra
        ),
        *(f"The archive lacks {name}: write it, or take it out of build_ignore in galaxy.yml." for name in missing),
    ]


def main() -> int:
    """Builds, prints what is wrong; gives the exit code."""
    with copied_project() as collection, tempfile.TemporaryDirectory(prefix="stateful-upgrade-") as output:
        command = ["ansible-galaxy", "collection", "build", "--output-path", output]
        done = subprocess.run(
            command, cwd=collection, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        if done.returncode != 0:
            print(done.stdout, end="")
            return done.returncode
        (archive,) = Path(output).iterdir()
        with tarfile.open(archive) as opened:
            found = problems([entry.name for entry in opened if entry.isfile()])
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
