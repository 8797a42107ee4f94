"""The development environment: one virtual environment per lock and Python version, made once per machine.

`python3.11 -m tests.checks.environment ARGUMENTS…` makes the environment when it is not there yet, and then becomes its
Python with these arguments, its programs first on the PATH. It needs the standard library only: it runs before anything
is installed. The variable STATEFUL_UPGRADE_LOCK names another lock of the folder `requirements`: those of the oldest
and the newest ansible-core hold what the tests need, and not what the checks need; that of the demo holds less still.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from tests.lab.cache import cache_root, exclusive

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements" / f"{os.environ.get('STATEFUL_UPGRADE_LOCK', 'dev')}.lock"
OLDEST, TOO_NEW = (3, 11), (3, 14)
"""The Python versions on which one of the locked ansible-cores runs as a controller."""


class EnvironmentProblem(Exception):
    """The environment cannot be made; the message says why and what to do."""


def environment_path(lock: Path = LOCK) -> Path:
    """The folder of the environment for this lock and this Python; another lock means another folder."""
    digest = hashlib.sha256(lock.read_bytes() + sys.version.encode()).hexdigest()[:12]
    return cache_root() / f"venv-{digest}"


def ensure(path: Path, lock: Path = LOCK) -> Path:
    """Makes the environment at `path` from `lock` unless it is complete; gives its Python.

    A virtual environment cannot be moved, so it is made in place; the marker that is written last shows that it is
    complete; what an interrupted run has left is removed.

    Raises:
        EnvironmentProblem: this Python is not supported, cannot make environments, or a package cannot be installed.
    """
    python, complete = path / "bin" / "python", path / "complete"
    if complete.exists():
        return python
    if not OLDEST <= sys.version_info[:2] < TOO_NEW:
        raise EnvironmentProblem(
            f"Python {sys.version.split()[0]} cannot run the development environment; "
            "call make with PYTHON=<a Python 3.11, 3.12 or 3.13>."
        )
    try:
        with exclusive(path.with_name(f"{path.name}.lock")):
            if not complete.exists():
                shutil.rmtree(path, ignore_errors=True)
                _install(path, python, lock)
                complete.touch()
    except (subprocess.CalledProcessError, OSError) as error:
        raise EnvironmentProblem(
            f"Python cannot make a virtual environment at {path} ({error}); "
            "install its venv module (Debian: python3.11-venv), or set STATEFUL_UPGRADE_CACHE to a folder you own."
        ) from error
    return python


def _install(path: Path, python: Path, lock: Path) -> None:
    print(f"installing the packages of {lock.name}, once per machine: {path}", file=sys.stderr, flush=True)
    venv.create(path, symlinks=True, with_pip=True)
    command = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--require-hashes", "-r"]
    environment = {**os.environ, "PIP_ROOT_USER_ACTION": "ignore"}
    if subprocess.run([*command, str(lock)], env=environment, check=False).returncode != 0:
        raise EnvironmentProblem(
            f"pip could not install {lock.name} (its message is above); check the network and run again."
        )


def main(arguments: list[str]) -> None:
    """Becomes the environment's Python, run with `arguments` from the root of the checkout."""
    try:
        python = ensure(environment_path())
    except EnvironmentProblem as problem:
        sys.exit(str(problem))
    os.chdir(ROOT)
    os.environ["PATH"] = f"{python.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    os.environ["VIRTUAL_ENV"] = str(python.parent.parent)
    os.environ.pop("PYTHONHOME", None)
    os.execv(python, [str(python), *arguments])


if __name__ == "__main__":
    main(sys.argv[1:])
