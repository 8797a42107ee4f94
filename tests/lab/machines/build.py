"""The real kubeadm and kubectl in two versions, built once per machine and kept in the cache."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.lab.control_plane.build import version_flags
from tests.lab.go_program import GoProgram

INSTALLED, NEXT, NEXT_MINOR = "1.36.3", "1.36.4", "1.37.0"
"""The version of its source, which is that of the lab's control plane, and two that the same source poses as."""


def programs_of(version: str) -> GoProgram:
    """kubeadm and kubectl of this version. Only the linker knows it, so a second one takes seconds."""
    return GoProgram("kubernetes", Path(__file__).parent, "2 minutes", partial(version_flags, version), recipe=version)
