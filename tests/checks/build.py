"""Builds the collection, looks into the archive and hands it to Galaxy's importer: `python -m tests.checks.build`.

Users get what runs, what describes it and what licenses it; tests and settings of tools are left out. Galaxy
takes only what its importer takes; here it has to do so without a warning.
"""

from __future__ import annotations

import os
import re
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
        "LICENSES",
        "MANIFEST.json",
        "README.md",
        "REUSE.toml",
        "changelogs",
        "docs",
        "extensions",
        "meta",
        "playbooks",
        "plugins",
        "roles",
    ]
)
"""The names that may be at the top of the archive."""

NEEDED = frozenset(
    {
        "CHANGELOG.md",
        "LICENSE",
        "MANIFEST.json",
        "README.md",
        "REUSE.toml",
        "changelogs/changelog.yaml",
        "meta/runtime.yml",
    }
)

LINT_ENDED = "Timeout on call to ansible-lint"
"""What the importer says if it has ended its ansible-lint before that was done. Its result is not known then."""


def problems(names: Collection[str]) -> list[str]:
    """The faults of an archive of these files, one sentence each."""
    extra = sorted({name.split("/")[0] for name in names} - DELIVERED)
    missing = sorted(NEEDED - set(names))
    return [
        *(
            f"The archive holds {name}, which users do not need: add it to build_ignore in galaxy.yml."
            for name in extra
        ),
        *(f"The archive lacks {name}: write it, or take it out of build_ignore in galaxy.yml." for name in missing),
    ]


def complaints(said: str, playbooks: Collection[str] = ()) -> list[str]:
    """The warnings and refusals of Galaxy's importer, from its output.

    The project for AWX imports the collection's own playbooks. The importer gives ansible-lint a path that ends with
    ansible_collections, below which ansible-lint looks for a folder of that name once more. So it does not find them.
    """
    unfound = {f"WARNING: ERROR    Failed to find stateful.upgrade.{name} playbook." for name in playbooks}
    return [line for line in re.findall(r"^(?:WARNING|ERROR): .*$", said, re.MULTILINE) if line.strip() not in unfound]


def imported(archive: Path, playbooks: Collection[str]) -> list[str]:
    """The objections of the importer to the archive with these playbooks; it must have finished."""
    done = _ended(archive)
    if LINT_ENDED in done.stdout:
        # It has three minutes, whatever else runs. Later less may.
        done = _ended(archive)
    found = complaints(done.stdout, playbooks)
    ended = done.returncode == 0 and "Importer processing completed successfully" in done.stdout
    return found if found or ended else [done.stdout]


def _ended(archive: Path) -> subprocess.CompletedProcess[str]:
    """The importer, once it has ended."""
    return subprocess.run(
        [sys.executable, "-m", "galaxy_importer.main", str(archive)],
        cwd=archive.parent,
        env={**os.environ, "ANSIBLE_HOME": str(archive.parent / ".ansible")},
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


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
            names = [Path(entry.name) for entry in opened if entry.isfile()]
        found = problems([str(name) for name in names])
        found += imported(
            archive, [name.stem for name in names if name.match("playbooks/*.yml") and len(name.parts) == 2]
        )
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
