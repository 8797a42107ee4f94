"""The four programs of Cluster API, out of its Go modules without a change; they share most of their packages."""

from __future__ import annotations

from pathlib import Path

from tests.lab.go_program import GoProgram

MODULE = "sigs.k8s.io/cluster-api"


def _program(name: str, package: str, takes: str) -> GoProgram:
    return GoProgram(f"cluster-api-{name}", Path(__file__).parent, takes, package=f"{MODULE}/{package}")


CORE = _program("core", "core", "4 minutes")
BOOTSTRAP = _program("bootstrap", "bootstrap/kubeadm", "1 minute")
CONTROL_PLANE = _program("control-plane", "controlplane/kubeadm", "1 minute")
IN_MEMORY = _program("in-memory", "test/infrastructure/docker", "1 minute")
