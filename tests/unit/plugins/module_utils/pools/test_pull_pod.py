"""The throw-away pod: it is like the pool's pods where that matters, and its state is read rightly."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.pull_pod import (
    PATIENCE,
    judge_pulls,
    model_of,
    pull_pod,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes.objects import (
    member,
    pool,
    running,
    terminated,
    waiting,
)

IMAGE = "opensearch:3.8.0"
TEMPLATE: dict[str, Any] = {
    "serviceAccountName": "search",
    "imagePullSecrets": [{"name": "registry"}],
    "nodeSelector": {"disk": "fast"},
    "tolerations": [{"key": "search", "operator": "Exists"}],
    "securityContext": {"runAsUser": 1000},
    "affinity": {"nodeAffinity": {"x": 1}, "podAntiAffinity": {"y": 1}},
    "volumes": [{"name": "data", "emptyDir": {}}],
    "containers": [
        {
            "name": "server",
            "image": "opensearch:2.19.6",
            "imagePullPolicy": "Always",
            "securityContext": {"allowPrivilegeEscalation": False},
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            "env": [{"name": "PASSWORD", "value": "secret"}],
        }
    ],
}


def test_the_pod_is_placed_and_allowed_like_the_pools_own() -> None:
    made = pull_pod(model_of(pool(template={"spec": TEMPLATE}), "server", IMAGE), IMAGE, "worker-1", 360)
    spec, container = made["spec"], made["spec"]["containers"][0]
    for key in ("serviceAccountName", "imagePullSecrets", "nodeSelector", "tolerations", "securityContext"):
        assert spec[key] == TEMPLATE[key]
    assert container["imagePullPolicy"] == "Always"
    assert container["securityContext"] == {"allowPrivilegeEscalation": False}
    assert container["image"] == IMAGE
    assert "worker-1" in str(spec["affinity"])
    assert spec["activeDeadlineSeconds"] == 360


def test_the_pod_takes_nothing_with_it_that_it_does_not_need() -> None:
    made = pull_pod(model_of(pool(template={"spec": TEMPLATE}), "server", IMAGE), IMAGE, "", 360)
    assert "volumes" not in made["spec"]
    assert "secret" not in str(made)
    assert made["spec"]["automountServiceAccountToken"] is False
    assert made["spec"]["affinity"] == {"nodeAffinity": {"x": 1}}
    assert "app" not in made["metadata"]["labels"]


def test_every_image_of_the_pod_is_asked_for_by_its_own_policy() -> None:
    first = {"name": "sysctl", "image": "tools:1", "imagePullPolicy": "Never", "securityContext": {"privileged": True}}
    same = {"name": "keystore", "image": "opensearch:2.19.6"}
    beside = {"name": "exporter", "image": "exporter:7"}
    containers = [*TEMPLATE["containers"], beside]
    spec = {**TEMPLATE, "initContainers": [first, {**first, "name": "again"}, same], "containers": containers}
    made = pull_pod(model_of(pool(template={"spec": spec}), "server", IMAGE), IMAGE, "", 360)
    found = [(each["image"], each.get("imagePullPolicy"), each["command"]) for each in made["spec"]["containers"]]
    # An init container of the server's image gets the new one with it.
    assert found == [(IMAGE, "Always", ["true"]), ("tools:1", "Never", ["true"]), ("exporter:7", None, ["true"])]
    assert made["spec"]["containers"][1]["securityContext"] == {"privileged": True}
    other = pull_pod(
        model_of(pool(template={"spec": {**spec, "containers": containers[:1]}}), "server", IMAGE), IMAGE, "", 1
    )
    # A pod of a killed run with other images is not taken over.
    assert other["metadata"]["labels"] != made["metadata"]["labels"]


def test_a_long_pool_name_leaves_room_for_what_the_server_adds() -> None:
    made = pull_pod(model_of(pool("d" * 60), "server", IMAGE), IMAGE, "", 360)
    assert len(made["metadata"]["generateName"]) + 5 <= 63


def pulling(status: dict[str, Any]) -> dict[str, Any]:
    return {**status, "name": "image-pull"}


@pytest.mark.parametrize(
    ("changes", "failing", "state", "code"),
    [
        ({"containers": [running()]}, 0, State.PASSED, None),
        ({"containers": [terminated(0, "Completed")], "phase": "Succeeded"}, 0, State.PASSED, None),
        ({"containers": [terminated(128, "StartError")], "phase": "Failed"}, 0, State.PASSED, None),
        ({"containers": [waiting("RunContainerError", "exec: true: not found")]}, 0, State.PASSED, None),
        ({"containers": [waiting("ContainerCreating")]}, 0, State.WAITING, "image_pulling"),
        ({"containers": []}, 0, State.WAITING, "image_pulling"),
        ({"containers": [], "node": "", "unscheduled": "cordoned"}, 0, State.WAITING, "image_pull_unschedulable"),
        ({"containers": [waiting("ErrImagePull", "i/o timeout")]}, 0, State.WAITING, "image_not_pulled"),
        ({"containers": [waiting("ErrImagePull", "i/o timeout")]}, PATIENCE + 1, State.REFUSED, "image_not_pulled"),
        ({"containers": [waiting("ErrImagePull", "manifest unknown")]}, 0, State.REFUSED, "image_not_pulled"),
        ({"containers": [waiting("InvalidImageName", "x")]}, 0, State.REFUSED, "image_not_pulled"),
        ({"containers": [waiting("CreateContainerConfigError", "runs as root")]}, 0, State.REFUSED, "image_not_usable"),
        (
            {"containers": [waiting("ContainerCreating")], "phase": "Failed", "reason": "DeadlineExceeded"},
            0,
            State.REFUSED,
            "image_not_proven",
        ),
    ],
)
def test_what_the_pods_state_proves(changes: dict[str, Any], failing: float, state: State, code: str | None) -> None:
    changes["containers"] = [pulling(each) for each in changes["containers"]]
    verdict = judge_pulls([(member(ready=False, **changes), failing)], IMAGE, "the pool")
    assert verdict.state is state
    assert [reason.code for reason in verdict.reasons] == ([code] if code else [])
    if code and code != "image_pull_unschedulable":
        assert IMAGE in verdict.reasons[0].message


def test_kubernetes_nodes_with_the_same_trouble_share_a_sentence() -> None:
    failing = [pulling(waiting("ErrImagePull", "manifest unknown"))]
    bad = [(member(ready=False, node=node, containers=failing), 0.0) for node in ("worker-2", "worker-1")]
    good = member(ready=False, node="worker-3", containers=[pulling(running())])
    verdict = judge_pulls([*bad, (good, 0.0)], IMAGE, "the pool")
    assert [reason.message for reason in verdict.reasons] == [
        f"Image {IMAGE} cannot be pulled on Kubernetes nodes worker-1, worker-2: manifest unknown."
    ]
