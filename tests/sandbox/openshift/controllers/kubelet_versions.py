"""The version of each kubelet, and the operator that is against minor updates if one would be too far behind.

`pkg/operator/kubeletversionskewcontroller` of cluster-kube-apiserver-operator.
"""

from __future__ import annotations

from tests.sandbox.kubernetes.controllers.work import Place, Work
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.openshift.controllers.machine_configs import MachineConfigs
from tests.sandbox.openshift.controllers.operators import Operators, version_of
from tests.sandbox.openshift.controllers.shared import Shared
from tests.sandbox.openshift.kinds import CURRENT, OPERATORS, annotations_of
from tests.sandbox.openshift.update_service import numbers_of

API_SERVER = "kube-apiserver"
_AHEAD = 13
"""OpenShift 4.18 has Kubernetes 1.31, and so on."""
_PREFIX = "KubeletMinorVersion"


def kubelet_of(version: str) -> str:
    """The version of the kubelets of a release."""
    _major, minor, patch = numbers_of(version)
    return f"v1.{minor + _AHEAD}.{patch}"


def most_behind(minor: int) -> int:
    """The minor versions that kubelets may be behind in 4.x (`minSupportedKubeletSkewForOpenShiftVersion`)."""
    return 2 if minor % 2 == 0 else 1


class KubeletVersions:
    """A Kubernetes node has the kubelet of the configuration that it was last restarted in."""

    def __init__(self, shared: Shared, operators: Operators, machine_configs: MachineConfigs) -> None:
        self._shared, self._operators, self._machine_configs = shared, operators, machine_configs
        self._hand = shared.hand("kubelet")
        self._versions: dict[str, str] = {}
        self._nodes = Work(shared.resources, 0.0, self._tell_node)
        self._skew = Work(shared.resources, shared.pace.control, self._tell_operator)
        self._told = ""
        shared.resources.store.listeners.append(self._changed)
        for node in shared.each(NODES):
            self._look_at(node)

    def booted(self, node: str, configuration: str) -> None:
        """A Kubernetes node has been restarted in a configuration."""
        self._versions[node] = self._machine_configs.release_of(configuration)
        self._nodes.add(("", node))

    def _changed(self, change: Change) -> None:
        if change.kind == NODES and change.type == "DELETED":
            self._versions.pop(change.item["metadata"]["name"], None)
            self._skew.add(("", ""))
        elif change.kind == NODES:
            self._look_at(change.item)
        elif change.kind == OPERATORS and change.item["metadata"]["name"] == API_SERVER:
            self._skew.add(("", ""))

    def _look_at(self, node: Json) -> None:
        name, configuration = node["metadata"]["name"], annotations_of(node).get(CURRENT)
        if configuration and name not in self._versions:
            self._versions[name] = self._machine_configs.release_of(configuration)
        if name in self._versions and _kubelet(node) != kubelet_of(self._versions[name]):
            self._nodes.add(("", name))

    def _tell_node(self, place: Place) -> None:
        told = kubelet_of(self._versions[place[1]])
        self._hand.tell(NODES, "", place[1], lambda item: item["status"]["nodeInfo"].update(kubeletVersion=told))
        self._skew.add(("", ""))

    def _tell_operator(self, _place: Place) -> None:
        operator = self._shared.kept(OPERATORS, API_SERVER)
        if operator is None:
            return
        minor = numbers_of(version_of(operator))[1]
        behind = {name: minor - numbers_of(each)[1] for name, each in self._versions.items()}
        too_far = sorted(name for name, each in behind.items() if each > most_behind(minor))
        at_limit = sorted(name for name, each in behind.items() if each and each + 1 > most_behind(minor + 1))
        self._say(too_far, at_limit)

    def _say(self, too_far: list[str], at_limit: list[str]) -> None:
        """Report the most severe reason, once."""
        reason, said = "AsExpected", ""
        if too_far:
            reason = f"{_PREFIX}_{_PREFIX}Unsupported"
            said = (
                f"Unsupported Kubelet versions on nodes {', '.join(too_far)} are too far behind the target API server"
            )
        elif at_limit:
            reason = f"{_PREFIX}_{_PREFIX}UnsupportedNextUpgrade"
            named = ", ".join(at_limit)
            said = f"Kubelet versions on nodes {named} will not be supported in the next OpenShift version upgrade."
        if said == self._told:
            return
        self._told = said
        message = f"{_PREFIX}Upgradeable: {said}" if said else ""
        self._operators.tell(API_SERVER, Upgradeable=("False" if said else "True", reason, message))


def _kubelet(node: Json) -> str:
    return str(node.get("status", {}).get("nodeInfo", {}).get("kubeletVersion", ""))
