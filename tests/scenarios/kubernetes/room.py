"""A pool on a real control plane, worked on with the rights of the documented Role and no more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome, Task
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.common.voice import Lines
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.client import KubernetesClient, connect
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.pods import pod_path, pods_of
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.rights import missing_rights
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.state import Pod, StatefulSet
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.stateful_sets import get_stateful_set, path_of
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.rights import ROLE
from ansible_collections.stateful.upgrade.plugins.module_utils.pools import image_pull, pool_image
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.pod_roll import Questions, roll

from tests.lab.waiting import until
from tests.scenarios.platforms import Platform

ROLE_FILE = Path(__file__).parents[3] / "roles/opensearch/files/role.yml"
USER = "upgrader"
POOL, CONTAINER = "data", "server"
OLD, NEW = "probe:1", "probe:2"
MISSING = "probe:9"
"""An image that the lab's registry does not have."""
TIMEOUT = 60.0
WAIT: Mapping[str, Any] = {"wait": True, "wait_timeout": 60, "wait_sleep": 0.2}

Json = dict[str, Any]


class Room:
    """One pool in a namespace of its own, as admin sees it and as the user of an upgrade works on it."""

    def __init__(self, platform: Platform, namespace: str) -> None:
        self.platform = platform
        self.namespace = namespace
        self.faults = platform.faults
        self.admin = connect({"kubeconfig": str(platform.kubeconfig())})
        self.options = {"kubeconfig": str(platform.kubeconfig(USER))}
        self.upgrader = connect(self.options)
        platform.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}])

    def remove(self) -> None:
        """Mend everything, remove the pool and its namespace, and wait until all pods are gone."""
        self.faults.mend_all()
        for path in (path_of(self.namespace, POOL), f"/api/v1/namespaces/{self.namespace}"):
            found = self.admin.get(path)
            if found is not None:
                self.admin.delete(path, found["metadata"]["uid"])
        until("the end of all pods", lambda: not self.admin.list(pod_path(self.namespace)), TIMEOUT)

    def grant(self) -> None:
        """Bind the documented Role to the user, and wait until the API server goes by it."""
        role = yaml.safe_load(ROLE_FILE.read_text(encoding="utf-8"))
        group, name = "rbac.authorization.k8s.io", role["metadata"]["name"]
        binding = {
            "apiVersion": role["apiVersion"],
            "kind": "RoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": group, "kind": "Role", "name": name},
            "subjects": [{"apiGroup": group, "kind": "User", "name": USER}],
        }
        self.add(role, binding)
        until("the user's rights", lambda: missing_rights(self.upgrader, self.namespace, ROLE).reasons == (), TIMEOUT)

    def up(self, strategy: Json | None = None, image: str = OLD, policy: str = "Parallel") -> None:
        """Apply the pool, as its owner does, and wait until all its pods are Ready."""
        self.apply(strategy, image, policy)
        until("the pool's pods to be Ready", self.settled, TIMEOUT)

    def apply(self, strategy: Json | None = None, image: str = OLD, policy: str = "Parallel") -> None:
        """Apply the pool, as its owner does."""
        self.add(_pool(strategy, image, policy))

    def add(self, *objects: Json) -> None:
        """Apply objects in this namespace."""
        self.platform.apply(
            [{**each, "metadata": {**each["metadata"], "namespace": self.namespace}} for each in objects]
        )

    def settled(self) -> bool:
        """Whether all pods of the pool are there and Ready, and their controller has written so."""
        pods, replicas = self.pods(), self.observed().replicas
        written = self.json().get("status", {}).get("readyReplicas")
        return len(pods) == written == replicas and all(each.ready for each in pods.values())

    def observed(self) -> StatefulSet:
        """The pool as the modules see it."""
        return get_stateful_set(self.admin, self.namespace, POOL)

    def pods(self) -> dict[str, Pod]:
        """The pool's pods, by name."""
        return pods_of(self.admin, self.observed())

    def uids(self) -> dict[str, str]:
        """The pods that are there: name → UID."""
        return {name: each.uid for name, each in self.pods().items()}

    def until_replaced(self, member: str, uid: str) -> None:
        """Wait until another pod has the member's name."""
        until(f"a successor of {member}", lambda: self.uids().get(member) not in {None, uid}, TIMEOUT)

    def json(self) -> Json:
        """The StatefulSet as it is stored."""
        return self.admin.get(path_of(self.namespace, POOL)) or {}

    def change(self, patch: Json) -> None:
        """Change the pool, as someone else does: a merge patch."""
        self.admin.patch(path_of(self.namespace, POOL), patch, "merge")

    def set_image(self, image: str | None = NEW, check_mode: bool = False, **changes: Any) -> Outcome:
        """The module `pool_image`."""
        params = {"pool": POOL, "image": image, "state": "present", "strategy": "OnDelete"}
        return pool_image.run(self._task({**params, "allow_field_managers": [], **changes}, check_mode))

    def restore(self) -> Outcome:
        """The module `pool_image`, on the way back."""
        return self.set_image(None, state="restored")

    def pull(self, image: str, check_mode: bool = False, **changes: Any) -> Outcome:
        """The module `image_pull`."""
        params = {"pool": POOL, "image": image, "kubernetes_nodes": "every", "left_out": []}
        task = self._task({**params, **changes}, check_mode)
        outcome = image_pull.run(task)
        return replace(outcome, more={**outcome.more, "actions": task.journal.as_result()})

    def roll(
        self,
        *batch: str,
        proof: Callable[[], Verdict] = Verdict,
        client: KubernetesClient | None = None,
        check_mode: bool = False,
        **wait: Any,
    ) -> Outcome:
        """Replace a batch; nothing runs in the pods, so they have joined as soon as they are Ready."""
        task = self._task(wait, check_mode)
        return roll(
            task,
            client or self.upgrader,
            self.namespace,
            [POOL],
            batch,
            Questions(lambda _pools, _there, _deleted: proof(), lambda _names, _deleted: Verdict()),
        )

    def _task(self, params: Mapping[str, Any], check_mode: bool) -> Task:
        common = {"kubernetes": self.options, "namespace": self.namespace, "container": None}
        return Task(
            params={**common, **WAIT, **params}, voice=Lines(print), check_mode=check_mode, clock=self.platform.clock
        )


def member(ordinal: int) -> str:
    """The name of the pool's pod of this ordinal."""
    return f"{POOL}-{ordinal}"


def codes(outcome: Outcome) -> list[str]:
    """The codes of the reasons that decide."""
    return [reason.code for reason in outcome.verdict.deciding()]


def image_of(pool: Json) -> str:
    """The image in the pool's template."""
    image: str = pool["spec"]["template"]["spec"]["containers"][0]["image"]
    return image


def _pool(strategy: Json | None, image: str, policy: str) -> Json:
    """Three probe servers; without a strategy the API server's own choice, RollingUpdate, holds."""
    labels = {"app": POOL}
    probe = {"httpGet": {"path": "/ready", "port": 8080}, "periodSeconds": 1}
    container = {"name": CONTAINER, "image": image, "readinessProbe": probe}
    spec: Json = {
        "replicas": 3,
        "serviceName": POOL,
        "podManagementPolicy": policy,
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"terminationGracePeriodSeconds": 5, "containers": [container]},
        },
    }
    if strategy is not None:
        spec["updateStrategy"] = strategy
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": POOL}, "spec": spec}
