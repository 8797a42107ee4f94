"""ansible-test sanity, with no ignore files, over a copy of the project: `python -m tests.checks.sanity [OPTIONS…]`.

ansible-test makes a virtual environment for each of its tests. To get pip into them, it downloads a bootstrap program
into its cache, unless it is there already. Here a small program of the same name is put there first: it takes the pip
that Python itself brings (ensurepip), and with it installs the version of pip that ansible-test asks for. So all comes
from the package index that this machine's pip is set up for, and nothing that is downloaded is run unverified.

ansible-test keeps all this in the home folder, so it gets one of its own, in the cache folder of the project. The
environments are kept there: the first run takes a minute and a half, later ones half a minute.
Tests whose tools are missing (shellcheck, PowerShell) ansible-test skips by itself, with a warning; this collection
holds no shell scripts for modules and no PowerShell.
"""

from __future__ import annotations

import ast
import configparser
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

from ansible_test._internal.python_requirements import get_venv_packages

from tests.checks.tree import copied_project
from tests.lab.cache import cache_root

BOOTSTRAP = """\
import subprocess
import sys

UNKNOWN_TO_PIP = {"--no-setuptools", "--no-wheel"}  # options of the bootstrap program that this one stands for
subprocess.run([sys.executable, "-m", "ensurepip"], check=True, stdout=subprocess.DEVNULL)
options = [option for option in sys.argv[1:] if option not in UNKNOWN_TO_PIP]
sys.exit(subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *options], check=False).returncode)
"""

NOISE = ("Running sanity", "Installing requirements", "Using cached pip", "WARNING: Using locale")


def python_version() -> str:
    """The Python that the checks run on, as ansible-test names it."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def place_bootstrap(home: Path) -> Path:
    """Puts the bootstrap program where the installed ansible-test looks for the pip version that it wants."""
    wanted = get_venv_packages(SimpleNamespace(version=python_version()))["pip"]
    program = home / ".ansible" / "test" / "cache" / f"get_pip_{wanted.replace('.', '_')}.py"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(BOOTSTRAP, encoding="utf-8")
    return program


def pip_settings(listed: str) -> configparser.RawConfigParser:
    """The settings that `pip config list` shows, from files and from the environment, as one file would say them.

    ansible-test hands neither the environment nor the user's home folder on to pip.
    """
    settings = configparser.RawConfigParser()
    settings["global"] = {"quiet": "1"}
    for line in listed.splitlines():
        name, _equals, value = line.partition("=")
        section, _dot, option = name.rpartition(".")
        section = "global" if section == ":env:" else section
        if option != "config-file":
            settings.setdefault(section, {})
            settings[section][option] = str(ast.literal_eval(value))
    return settings


def place_pip_settings(home: Path) -> None:
    """Gives this user's settings of pip to the pip that ansible-test starts; for this user's eyes only."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout
    path = home / ".config" / "pip" / "pip.conf"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    with path.open("w", encoding="utf-8") as file:
        pip_settings(listed).write(file)


def worth_showing(line: str) -> bool:
    """Whether a line of ansible-test's output says more than that a test or an installation is going on."""
    return bool(line.strip()) and not line.startswith(NOISE)


def main(options: list[str]) -> int:
    """Runs ansible-test, shows what it finds; gives its exit code. With -v, shows all that it says."""
    home = cache_root() / "sanity"
    place_bootstrap(home)
    place_pip_settings(home)
    parts = [options] if any(each.startswith(("--test", "--skip-test")) for each in options) else halves(options)
    with ThreadPoolExecutor() as at_once:
        done = [*at_once.map(lambda part: _run(home, part), parts)]
    code = max(code for code, _tests in done)
    print(
        f"ansible-test sanity: {sum(tests for _code, tests in done)} tests, {'errors above' if code else 'no errors'}"
    )
    return code


def halves(options: list[str]) -> list[list[str]]:
    """The options of two runs at the same time. pylint takes as long as all others; ruff and mypy check the tests."""
    return [[*options, "--test", "pylint", "--exclude", "tests/"], [*options, "--skip-test", "pylint"]]


def _run(home: Path, options: list[str]) -> tuple[int, int]:
    """The exit code of one ansible-test, and how many tests it ran."""
    command = ["ansible-test", "sanity", "--color", "no", "--python", python_version(), *options]
    tests = 0
    with (
        copied_project() as collection,
        subprocess.Popen(
            command,
            cwd=collection,
            env={**os.environ, "HOME": str(home)},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as running,
    ):
        for line in running.stdout or ():
            tests += line.startswith("Running sanity test")
            if "-v" in options or worth_showing(line):
                print(line, end="", flush=True)
    return abs(running.returncode), tests


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
