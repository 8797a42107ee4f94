"""The control plane's binary, built once per machine and kept in the cache."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.lab.go_program import GoProgram


def version_flags(version: str) -> str:
    """The linker flags that strip a binary and give it its version of Kubernetes, by which /version and gates go."""
    major, minor, _patch = version.split(".")
    package = "k8s.io/component-base/version"
    values = {"gitVersion": f"v{version}", "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    return " ".join(["-s", "-w", *(f"-X {package}.{name}={value}" for name, value in values.items())])


def _linker_flags() -> str:
    return version_flags(CONTROL_PLANE.requirement(r"^\tk8s\.io/kubernetes v(\S+)$"))


CONTROL_PLANE = GoProgram("control-plane", Path(__file__).parent, "5 minutes", _linker_flags)


def ensure_built(tell: Callable[[str], None] = print) -> Path:
    """Give the binary's path, building it first if this machine has none yet. Raises LabError."""
    return CONTROL_PLANE.ensure_built(tell)
