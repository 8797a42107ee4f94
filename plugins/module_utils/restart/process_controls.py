"""The process controls, by the names under which a user chooses them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..kubernetes.client import KubernetesClient
from .by_agent import ByAgent
from .by_kubelet import ByKubelet
from .process_control import ProcessControl

WAYS: Mapping[str, type[ByKubelet | ByAgent]] = {"kubelet": ByKubelet, "agent": ByAgent}


def keeps_stopped(name: str) -> bool:
    """Whether the process control of this name keeps a process stopped."""
    return WAYS[name].keeps_stopped


def process_control_of(params: Mapping[str, Any], client: KubernetesClient) -> ProcessControl:
    """The process control that the options of a task name."""
    return WAYS[params["way"]].of(params, client)
