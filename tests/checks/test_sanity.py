"""The checkout as it is prepared for ansible-test."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

from tests.checks.sanity import pip_settings, place_bootstrap


def test_pip_settings_from_files_and_environment() -> None:
    listed = "\n".join(
        [
            ":env:.find-links='one\\ntwo'",
            "global.index-url='from-a-file'",
            ":env:.index-url='from-the-environment'",
            "install.no-binary='x=y'",
            ":env:.config-file='elsewhere'",
        ]
    )
    settings = pip_settings(listed)
    assert dict(settings["global"]) == {"quiet": "1", "find-links": "one\ntwo", "index-url": "from-the-environment"}
    assert dict(settings["install"]) == {"no-binary": "x=y"}


def test_bootstrap_brings_pip_into_an_empty_environment(tmp_path: Path) -> None:
    program = place_bootstrap(tmp_path)
    venv.create(tmp_path / "venv", symlinks=True, with_pip=False)
    python = str(tmp_path / "venv" / "bin" / "python")
    command = [python, str(program), "--disable-pip-version-check", "pip", "--no-setuptools", "--no-wheel"]
    subprocess.run(command, check=True)
    version = subprocess.run([python, "-m", "pip", "--version"], check=True, text=True, stdout=subprocess.PIPE).stdout
    assert str(tmp_path) in version
    assert f"python {sys.version_info.major}.{sys.version_info.minor}" in version
