"""The two commands that install the collection, as far as they need neither Galaxy nor a package index."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.checks.tree import ROOT, copy_project
from tests.site.commands import DOCS, commands_in

COMMANDS = commands_in((DOCS / "start.md").read_text(encoding="utf-8"))


def run(command: list[str], folder: Path, environment: Mapping[str, str]) -> str:
    """The output of a command that has to succeed."""
    done = subprocess.run(command, cwd=folder, env=dict(environment), check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_archive_installs_and_its_playbooks_are_found(
    tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    (install,) = [each for each in COMMANDS if "collection install" in each]
    sources = copy_project(tmp_path / "sources")
    run(["ansible-galaxy", "collection", "build", "--output-path", str(tmp_path)], sources, ansible_environment)
    (archive,) = tmp_path.glob("stateful-upgrade-*.tar.gz")
    environment = {**ansible_environment, "ANSIBLE_COLLECTIONS_PATH": str(tmp_path / "collections")}
    command = install.replace("stateful.upgrade", f"{archive} --offline -p {tmp_path / 'collections'}").split()
    run(command, tmp_path, environment)
    run(["ansible-playbook", "stateful.upgrade.plan", "--syntax-check"], tmp_path, environment)


def test_the_packages_that_are_installed_are_those_that_the_modules_import() -> None:
    (install,) = [each for each in COMMANDS if each.startswith("pip install")]
    required = (ROOT / "meta" / "ee-requirements.txt").read_text(encoding="utf-8")
    assert sorted(install.split()[2:]) == sorted(re.findall(r"^([\w-]+)>=", required, re.M))
