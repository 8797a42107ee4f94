"""A Longhorn on the lab, upgraded by playbooks as a user with exactly the shipped roles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tests.lab.api import MERGE
from tests.lab.lab import Lab
from tests.lab.longhorn.longhorn import LonghornOnLab
from tests.lab.longhorn.requests import ask
from tests.lab.waiting import until
from tests.sandbox.kubernetes.kinds import NODES as KUBERNETES_NODES
from tests.sandbox.longhorn.description import NEW_IMAGE
from tests.sandbox.longhorn.kinds import MANAGERS, NAMESPACE, SETTINGS
from tests.sandbox.longhorn.runs import leftovers, shipped_rights
from tests.sandbox.longhorn.webhook import BY_LONGHORN
from tests.scenarios.cluster import CLUSTER_USER
from tests.scenarios.playbook import STATUS, Played, Playing, digest_of, play

PLAYBOOK = "stateful.upgrade.longhorn"
SYSTEM = {"upgrade_system": PLAYBOOK}
REPOSITORY = NEW_IMAGE.rpartition(":")[0]
PULLED = 60.0
MADE = 60.0
HUGE_PAGES = {"hugepages-2Mi": "4Gi"}


def equip(lab: Lab, nodes: Sequence[str], versions: Sequence[str]) -> None:
    """Give Kubernetes nodes huge pages and the images of these versions, and the user the shipped roles."""
    lab.apply(
        [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}, *shipped_rights(CLUSTER_USER)]
    )
    images = {f"{REPOSITORY}:{each}" for each in versions}
    containers = [
        {"name": f"image-{number}", "image": image, "command": ["true"]} for number, image in enumerate(sorted(images))
    ]
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"images-{node}", "namespace": "default"},
            "spec": {"nodeName": node, "restartPolicy": "Never", "containers": containers},
        }
        for node in nodes
    ]
    lab.apply(pods)

    def shown(node: str) -> bool:
        told = ask(api, "GET", KUBERNETES_NODES.path("", node))["status"].get("images") or []
        return images <= {name for each in told for name in each["names"]}

    with lab.client() as api:
        for node in nodes:
            status = {"status": {"capacity": HUGE_PAGES, "allocatable": HUGE_PAGES}}
            ask(api, "PATCH", KUBERNETES_NODES.path("", node) + "/status", status, MERGE)
            until(f"The images on {node}", partial(shown, node), PULLED)


@dataclass(frozen=True)
class Upgrades:
    """The upgrades of one Longhorn."""

    lab: Lab
    longhorn: LonghornOnLab
    environment: Mapping[str, str]
    accepted: Sequence[str] = ()
    in_place: bool = False
    """Whether Longhorn changes the image of the only instance manager of a node, as v1.13 does."""

    def variables(self, version: str, **more: Any) -> dict[str, Any]:
        """The variables of the playbook."""
        return {
            "target_version": version,
            "upgrade_namespace": NAMESPACE,
            "upgrade_kubernetes": {"kubeconfig": str(self.lab.kubeconfig(CLUSTER_USER))},
            "upgrade_accept_unverified": list(self.accepted),
            **more,
        }

    def agreed(self, version: str, **more: Any) -> dict[str, Any]:
        """The variables with consent to the present plan."""
        variables = self.variables(version, **more)
        return {**variables, "upgrade_confirm": digest_of({**variables, **SYSTEM}, self.environment)}

    def run(self, variables: Mapping[str, Any]) -> Played:
        """One run to its end."""
        return play(PLAYBOOK, variables, self.environment)

    def start(self, variables: Mapping[str, Any]) -> Playing:
        """One run, which goes on while the test does something else."""
        return Playing(PLAYBOOK, variables, self.environment)

    def status(self, version: str) -> Played:
        """The playbook `status`."""
        return play(STATUS, {**self.variables(version), **SYSTEM}, self.environment)

    def system_is(self, version: str) -> None:
        """Longhorn itself is of another version, and each Longhorn node has its instance manager, running or not yet;
        where the image is changed in place, there is no other one.

        Longhorn makes them some time after the setting has changed, and no plan is made before that.
        """
        image = f"{REPOSITORY}:{version}"
        body = {"metadata": {"annotations": {BY_LONGHORN: ""}}, "value": image}
        self.longhorn.ask("PATCH", SETTINGS, "default-instance-manager-image", body)

        def equipped() -> bool:
            of_image = {
                each["spec"]["nodeID"] for each in self.longhorn.all(MANAGERS) if each["spec"]["image"] == image
            }
            return of_image >= {*self.versions()}

        if not self.in_place:
            until(f"Instance managers of {image}", equipped, MADE)

    def versions(self) -> dict[str, str]:
        """The version of the instance manager that each node runs."""
        found = [
            each for each in self.longhorn.all(MANAGERS) if each.get("status", {}).get("currentState") == "running"
        ]
        return {each["spec"]["nodeID"]: each["spec"]["image"].rpartition(":")[2] for each in found}

    def left_behind(self) -> list[str]:
        """The things that a run has not put back."""
        return leftovers(self.longhorn.all)
