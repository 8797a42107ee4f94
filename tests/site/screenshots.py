"""Pictures of the report, from a real upgrade of real members: `make screenshots` takes them anew into docs/pictures.

A cluster of OpenSearch is started as `make demo` does, and upgraded by the playbook. Chromium shows the report, light
and dark. It is a package of the machine (Debian: chromium); nothing else here needs it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.checks.limits import PICTURE_BYTES
from tests.checks.tree import ROOT, linked_project
from tests.scenarios.playbook import play, upgrade

FOLDER = ROOT / "docs" / "pictures"
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
LOOKS = {"light": (), "dark": ("--force-dark-mode", "--blink-settings=preferredColorScheme=0")}
SIZE = "1000,900"
PATIENCE = 120
REPORT = "stateful.upgrade.report"


class NoPicture(Exception):
    """A picture cannot be taken; the message says why and what to do."""


@contextmanager
def cluster(folder: Path) -> Iterator[dict[str, Any]]:
    """The variables of a real cluster, which ends with the block."""
    command = [sys.executable, "-m", "tests.demo.cluster"]
    subprocess.run([*command, "up", "--directory", str(folder)], check=True, cwd=ROOT)
    try:
        yield yaml.safe_load((folder / "cluster.yml").read_text(encoding="utf-8"))
    finally:
        subprocess.run([*command, "down", "--directory", str(folder)], check=True, cwd=ROOT)


def report(folder: Path, environment: Mapping[str, str]) -> Path:
    """The report of a real upgrade.

    Raises:
        NoPicture: the upgrade or its report has failed.
    """
    page = folder / "report.html"
    with cluster(folder / "cluster") as reached:
        done = upgrade({**reached, "target_version": "3.8.0"}, environment, live=True)
        told = play(REPORT, {**reached, "upgrade_report_path": str(page)}, environment)
    if done.code or told.code:
        raise NoPicture(f"The upgrade or its report has failed: {done.message or told.message}")
    return page


def photograph(page: Path, picture: Path, look: str, folder: Path) -> None:
    """Takes a picture of a page.

    Raises:
        NoPicture: there is no browser, it has failed, or the picture is too large for the repository.
    """
    browser = next((found for found in map(shutil.which, PROGRAMS) if found), None)
    if browser is None:
        raise NoPicture("No browser was found: install Chromium (Debian: apt-get install chromium), and run again.")
    options = [*QUIET, *LOOKS[look], f"--user-data-dir={folder / look}", f"--window-size={SIZE}"]
    command = [browser, *options, f"--screenshot={picture}", page.as_uri()]
    done = subprocess.run(command, check=False, timeout=PATIENCE, capture_output=True, text=True)
    if done.returncode != 0 or not picture.is_file():
        raise NoPicture(f"{browser} took no picture: {done.stderr.strip()}")
    if picture.stat().st_size > PICTURE_BYTES:
        raise NoPicture(f"{picture} has {picture.stat().st_size} bytes, and {PICTURE_BYTES} are allowed: lower SIZE.")


def main(page: Path | None) -> int:
    """Takes the pictures of a page, or else of the report of a real upgrade; gives the exit code."""
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(linked_project()), "ANSIBLE_NOCOLOR": "1"}
    try:
        with tempfile.TemporaryDirectory(prefix="stateful-upgrade-") as name:
            folder = Path(name)
            folder.chmod(0o755)
            shown = page or report(folder, environment)
            for look in LOOKS:
                photograph(shown.absolute(), FOLDER / f"report-{look}.png", look, folder)
    except NoPicture as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if sys.argv[1:] else None))
