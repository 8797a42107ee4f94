"""Builds the documentation site: `python -m tests.site [FOLDER]`, by default into build/site.

The pages are those of docs. The reference of modules, plugins and roles is made by antsibull-docs from what they
document.
Every warning is an error: a link to a page, a section or a file that is not there ends the build.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.checks.tree import ROOT, linked_project

SITE = ROOT / "build" / "site"
SETTINGS = Path(__file__).parent
COLLECTION = "stateful.upgrade"


def gather(folder: Path) -> Path:
    """Puts the sources of the site together below `folder`; gives the folder that Sphinx reads.

    Raises:
        subprocess.CalledProcessError: a plugin or a role is documented with a fault.
    """
    pages = folder / "docs"
    shutil.copytree(ROOT / "docs", pages)
    reference = pages / "reference"
    # antsibull-docs wants a folder that only its owner may change.
    reference.chmod(0o755)
    command = ["antsibull-docs", "collection", "--use-current", "--squash-hierarchy", "--fail-on-error"]
    command += ["--no-add-antsibull-docs-version", "--dest-dir", str(reference), COLLECTION]
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(linked_project())}
    subprocess.run(command, env=environment, check=True)
    return pages


def build(pages: Path, site: Path) -> int:
    """Builds the site from its pages; gives Sphinx' exit code."""
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--jobs", "auto", "-b", "html"]
    with tempfile.TemporaryDirectory(prefix="stateful-upgrade-") as trees:
        command += ["-d", trees, "-c", str(SETTINGS), str(pages), str(site)]
        return subprocess.run(command, check=False).returncode


def main(site: Path) -> int:
    """Makes the site anew; gives the exit code."""
    shutil.rmtree(site, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="stateful-upgrade-") as folder:
        try:
            pages = gather(Path(folder))
        except subprocess.CalledProcessError as error:
            return error.returncode
        code = build(pages, site)
    if code == 0:
        print(f"The site is in {site}: open {site / 'index.html'}")
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if sys.argv[1:] else SITE))
