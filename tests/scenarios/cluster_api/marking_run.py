"""The marks of one run on the Machines of a story: the shipped code, with the shipped rights and no more."""

from __future__ import annotations

from typing import Any

from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.common.voice import Lines
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.act.draining import Draining
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.answers import all_of
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.client import connect
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.kubernetes_nodes import PATH as NODES
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.machine_marks import MODULE, MachineMarks
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.reading import machine
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.state import KubeadmCluster

from tests.runs.shipped import bound
from tests.scenarios.cluster import USER
from tests.scenarios.cluster_api.story import Story

RIGHTS = "machines/files/management_role.yml"


class MarkingRun:
    """It looks at the real Kubernetes nodes and Machines at each call, as each task of a run does."""

    def __init__(self, story: Story, name: str) -> None:
        lab = story.extension.lab
        lab.apply(bound(RIGHTS, story.namespace))
        self._name = name
        self._cluster = {"kubeconfig": str(story.folder / "kubeconfig")}
        self._management = {"kubeconfig": str(lab.kubeconfig(USER))}

    def waits_with(self, *nodes: str) -> None:
        """The run has planned these Kubernetes nodes."""
        assert self._marks().await_turn(nodes).passed

    def starts(self, *nodes: str) -> None:
        """Their batch starts."""
        assert self._marks().hold(nodes).passed

    def drains(self, node: str) -> None:
        """The drain of a Kubernetes node starts with its cordon."""
        Draining(self._task(), connect(self._cluster), MODULE).cordon(node)

    def fails(self, cause: str) -> list[str]:
        """The run ends by a failure. The result has the codes of its remarks."""
        return [each.code for each in self._marks(cause).put_back(())]

    def judges(self, *nodes: str) -> Verdict:
        """Whether it may mark these."""
        return self._marks().judge(nodes)

    def _marks(self, stopped: str = "") -> MachineMarks:
        nodes = all_of("Node", connect(self._cluster).list(NODES), machine)
        # The static pods of a control plane in memory have no containers, and no mark needs them.
        seen = KubeadmCluster("", machines={each.name: each for each in nodes})
        found = MachineMarks.of(self._task(stopped), seen)
        assert found is not None
        assert found.missing().passed
        return found

    def _task(self, stopped: str = "") -> Task:
        given: dict[str, Any] = {
            "kubernetes": self._cluster,
            "management": self._management,
            "lock": {"run": self._name},
        }
        given |= {"task_source": "", "stopped": stopped, "target_version": None}
        return Task(given, voice=Lines(lambda _line: None), parents=())
