"""Builds the control plane's binary once per machine and keeps it in the cache."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.lab.cache import cache_root, exclusive
from tests.lab.errors import LabError
from tests.lab.go import toolchain

SOURCE = Path(__file__).parent
NO_DEBUGGER = "-gcflags=all=-dwarf=false"
"""The linker drops what a debugger reads; the compiler takes a fifth longer to write it."""
INPUTS = ("main.go", "go.mod", "go.sum")


def binary_path() -> Path:
    """The path of the binary of this very source."""
    digest = hashlib.sha256(b"".join((SOURCE / name).read_bytes() for name in INPUTS)).hexdigest()
    return cache_root() / f"control-plane-{digest[:12]}" / "control-plane"


def ensure_built(tell: Callable[[str], None] = print) -> Path:
    """Give the binary's path, building it first if this machine has none yet. Raises LabError."""
    binary = binary_path()
    if binary.exists():
        return binary
    with exclusive(binary.parent.parent / f"{binary.parent.name}.lock"):
        if not binary.exists():
            tell("building the control plane, once per machine, about 5 minutes")
            _build(binary, tell)
    return binary


def _build(binary: Path, tell: Callable[[str], None]) -> None:
    """Build next to the final place, then rename: an interrupted build leaves nothing that looks finished."""
    binary.parent.mkdir(parents=True, exist_ok=True)
    binary.parent.chmod(0o755)
    with tempfile.TemporaryDirectory(prefix="build-", dir=binary.parent) as scratch:
        made = Path(scratch) / "control-plane"
        argv = [
            "nice",
            str(toolchain(_requirement(r"^go (\S+)$"), tell)),
            "build",
            "-trimpath",
            NO_DEBUGGER,
            f"-ldflags={_linker_flags()}",
            "-o",
            str(made),
            ".",
        ]
        log = binary.parent / "build.log"
        with log.open("wb") as output:
            result = subprocess.run(
                argv, cwd=SOURCE, env=_environment(), stdout=output, stderr=subprocess.STDOUT, check=False
            )
        if result.returncode != 0:
            last = (log.read_text(errors="replace").strip().splitlines() or ["no output"])[-1]
            raise LabError(f"The control plane could not be built: {last}; the whole output is in {log}.")
        made.rename(binary)


def _environment() -> dict[str, str]:
    return {**os.environ, "GOFLAGS": "-mod=readonly -buildvcs=false", "GOGC": "400", "CGO_ENABLED": "0"}


def _requirement(pattern: str) -> str:
    found = re.search(pattern, (SOURCE / "go.mod").read_text(), re.MULTILINE)
    if found is None:
        raise LabError(f"go.mod of the control plane lacks a line like {pattern!r}; restore the file.")
    return found.group(1)


def _linker_flags() -> str:
    """Strip the binary, and tell it its Kubernetes version: /version and the feature gates go by it."""
    version = _requirement(r"^\tk8s\.io/kubernetes v(\S+)$")
    major, minor, _patch = version.split(".")
    package = "k8s.io/component-base/version"
    values = {"gitVersion": f"v{version}", "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    return " ".join(["-s", "-w", *(f"-X {package}.{name}={value}" for name, value in values.items())])
