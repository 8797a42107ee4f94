"""Judging a replacement: each way to be stuck is named, and only what time cannot fix is refused."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import NotUnderstood
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.state import KubernetesEvent, Pod
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.replacement import (
    PULL_PATIENCE,
    SLOW,
    ReplacementStage,
    Sighting,
    blockers_of,
    judge_replacement,
    pull_cause,
    stage_of,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes.objects import (
    member,
    pool,
    running,
    terminated,
    waiting,
)

OLD = "uid-old"


def unready(*containers: dict[str, Any], **changes: Any) -> Pod:
    return member(ready=False, containers=list(containers), **changes)


def event(reason: str, message: str) -> KubernetesEvent:
    return KubernetesEvent("Warning", reason, message, 1, "2026-11-21T00:00:00Z")


@pytest.mark.parametrize(
    ("pod", "stage"),
    [
        (member(uid=OLD, terminating=True), ReplacementStage.STOPPING),
        (member(uid=OLD), ReplacementStage.STOPPING),
        (member(terminating=True), ReplacementStage.STOPPING),
        (None, ReplacementStage.RECREATING),
        (unready(node=""), ReplacementStage.SCHEDULING),
        (unready(), ReplacementStage.PREPARING),
        (unready(waiting("ContainerCreating")), ReplacementStage.PREPARING),
        (unready(waiting("ImagePullBackOff")), ReplacementStage.PREPARING),
        (unready(running(False)), ReplacementStage.STARTING),
        (unready(terminated(1)), ReplacementStage.STARTING),
        (unready(waiting("CrashLoopBackOff", restarts=1)), ReplacementStage.STARTING),
        (
            unready(waiting("PodInitializing"), initContainerStatuses=[running(False, name="setup")]),
            ReplacementStage.PREPARING,
        ),
        (member(), ReplacementStage.READY),
    ],
)
def test_stages(pod: Pod | None, stage: ReplacementStage) -> None:
    assert stage_of(OLD, pod) is stage


BACK_OFF = waiting("ImagePullBackOff", 'Back-off pulling image "opensearch:3.8.0": ErrImagePull: not found')
KILLED = {"exitCode": 137, "reason": "OOMKilled"}
ENDED = {"exitCode": 78, "reason": "Error"}


@pytest.mark.parametrize(
    ("sighting", "state", "code", "said"),
    [
        ({"pod": member()}, State.PASSED, None, []),
        ({"pod": member(uid=OLD, terminating=True)}, State.WAITING, "pod_stopping", ["data-2"]),
        (
            {"pod": member(uid=OLD, terminating=True), "in_stage": 30 + SLOW + 1},
            State.WAITING,
            "pod_does_not_stop",
            ["data-2", "30 s", "worker-1"],
        ),
        (
            # The kubelet is done with it and has let go: nothing but the finalizer keeps the object.
            {"pod": member(uid=OLD, terminating=True, grace=0, finalizers=["example.com/guard"]), "in_stage": SLOW + 1},
            State.WAITING,
            "pod_held_by_finalizer",
            ["data-2 has stopped, and its finalizer example.com/guard keeps", "kubectl patch pod data-2 -n search"],
        ),
        (
            {
                "pod": member(uid=OLD, terminating=True, containers=[terminated(143)], finalizers=["a/b", "c/d"]),
                "in_stage": 30 + SLOW + 1,
            },
            State.WAITING,
            "pod_held_by_finalizer",
            ["its finalizers a/b, c/d keep"],
        ),
        (
            {"pod": member(uid=OLD, terminating=True, grace=0, finalizers=["a/b"]), "in_stage": SLOW},
            State.WAITING,
            "pod_stopping",
            ["data-2"],
        ),
        (
            {"pod": member(uid=OLD, terminating=True, finalizers=["a/b"]), "in_stage": 30 + SLOW + 1},
            State.WAITING,
            "pod_does_not_stop",
            ["30 s", "kubelet of worker-1", "its finalizer a/b"],
        ),
        (
            {"pod": member(uid=OLD, terminating=True), "kubernetes_node_ready": False},
            State.WAITING,
            "kubernetes_node_down",
            ["data-2", "worker-1", "--force"],
        ),
        (
            {"pod": member(uid=OLD, terminating=True), "events": (event("NodeNotReady", "Node is not ready"),)},
            State.WAITING,
            "kubernetes_node_down",
            ["data-2", "worker-1", "was lost at", "--force"],
        ),
        ({"pod": None}, State.WAITING, "pod_not_recreated", ["data-2"]),
        (
            {"pod": None, "events": (event("FailedCreate", "exceeded quota: pods=3"),)},
            State.WAITING,
            "pod_not_recreated",
            ["exceeded quota: pods=3"],
        ),
        ({"pod": None, "blockers": ("data-0",)}, State.WAITING, "pod_blocked", ["OrderedReady", "data-0"]),
        ({"pod": unready(node="")}, State.WAITING, "pod_scheduling", ["data-2"]),
        (
            {"pod": unready(node="", unscheduled="0/3 nodes are available: 1 Insufficient memory.")},
            State.WAITING,
            "pod_unschedulable",
            ["data-2", "Insufficient memory"],
        ),
        ({"pod": unready(waiting("ContainerCreating"))}, State.WAITING, "pod_preparing", ["worker-1"]),
        (
            {"pod": unready(), "events": (event("FailedMount", "MountVolume.SetUp failed"),)},
            State.WAITING,
            "pod_not_prepared",
            ["MountVolume.SetUp failed"],
        ),
        (
            {"pod": unready(waiting("ErrImagePull", "rpc error: code = NotFound desc = no manifest"))},
            State.WAITING,
            "image_not_pulled",
            ["opensearch:3.8.0", "worker-1", "no manifest"],
        ),
        ({"pod": unready(BACK_OFF), "failing_pull": PULL_PATIENCE}, State.WAITING, "image_not_pulled", []),
        (
            {"pod": unready(BACK_OFF), "failing_pull": PULL_PATIENCE + 1},
            State.REFUSED,
            "image_not_pulled",
            ["opensearch:3.8.0", "data-2", "not found"],
        ),
        ({"pod": unready(waiting("InvalidImageName", "bad"))}, State.REFUSED, "image_not_pulled", ["bad"]),
        (
            {"pod": unready(waiting("CreateContainerConfigError", 'secret "tls" not found'))},
            State.REFUSED,
            "container_configuration",
            ['secret "tls" not found', "server"],
        ),
        (
            {
                "pod": unready(
                    waiting("PodInitializing"), initContainerStatuses=[waiting("ErrImagePull", "x", name="i")]
                )
            },
            State.WAITING,
            "image_not_pulled",
            [],
        ),
        ({"pod": unready(terminated(1))}, State.WAITING, "container_crashed", ["exit code 1"]),
        (
            {"pod": unready(waiting("CrashLoopBackOff", restarts=2, last=ENDED))},
            State.WAITING,
            "container_crashed",
            ["exit code 78"],
        ),
        (
            {"pod": unready(waiting("CrashLoopBackOff", restarts=3, last=ENDED))},
            State.REFUSED,
            "container_crashes",
            ["exit code 78", "data-2", "log"],
        ),
        (
            {"pod": unready(waiting("CrashLoopBackOff", restarts=3, last=KILLED))},
            State.REFUSED,
            "container_crashes",
            ["OOMKilled", "memory limit"],
        ),
        ({"pod": unready(running(False, restarts=9))}, State.WAITING, "pod_starting", ["data-2"]),
        (
            {"pod": unready(running(False)), "in_stage": SLOW + 1, "events": (event("Unhealthy", "got 503"),)},
            State.WAITING,
            "pod_not_ready",
            ["got 503"],
        ),
        ({"pod": unready(running(False)), "kubernetes_node_ready": False}, State.WAITING, "kubernetes_node_down", []),
        (
            {"pod": member(ready=False, phase="Failed", reason="Evicted", message="disk pressure.", containers=[])},
            State.WAITING,
            "pod_failed",
            ["Evicted: disk pressure)"],
        ),
        (
            {"pod": member(revision="data-old")},
            State.REFUSED,
            "pod_of_another_revision",
            ["data-2", "data-old", "data-new"],
        ),
        ({"pod": member(uid=OLD, revision="data-old", terminating=True)}, State.WAITING, "pod_stopping", []),
    ],
)
def test_the_cause_is_named(sighting: dict[str, Any], state: State, code: str | None, said: list[str]) -> None:
    verdict = judge_replacement(pool(), Sighting(**{"member": "data-2", "old_uid": OLD, **sighting}))
    assert verdict.state is state
    assert [reason.code for reason in verdict.reasons] == ([code] if code else [])
    sentences = " ".join(reason.sentence() for reason in verdict.reasons)
    assert [part for part in said if part not in sentences] == []


@pytest.mark.parametrize("finalizers", ["a/b", [7], {"a": "b"}, [["a"]]])
def test_finalizers_that_are_none_are_not_understood(finalizers: Any) -> None:
    with pytest.raises(NotUnderstood, match="finalizers"):
        member(finalizers=finalizers)


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("", ""),
        ("manifest unknown", ": manifest unknown"),
        ('Back-off pulling image "x:1"', ""),
        ('Back-off pulling image "x:1": ErrImagePull: rpc error: code = NotFound desc = not there.', ": not there"),
        ("rpc error: code = Unknown desc = rpc error: code = NotFound desc = not there", ": not there"),
        (
            'failed to pull and unpack image "x:1": failed to resolve reference "x:1": x:1: not found',
            ": x:1: not found",
        ),
    ],
)
def test_the_cause_of_a_failed_pull_is_told_without_its_wrapping(message: str, cause: str) -> None:
    assert pull_cause(message) == cause


def test_every_reason_that_is_not_plainly_passing_has_a_remedy() -> None:
    plain = {"pod_stopping", "pod_scheduling", "pod_preparing", "pod_failed"}
    for pod in (None, unready(BACK_OFF), unready(terminated(1)), unready(running(False)), unready(node="")):
        for reason in judge_replacement(pool(), Sighting("data-2", OLD, pod)).reasons:
            assert reason.remedy or reason.code in plain


def test_an_ordered_pool_is_blocked_by_lower_pods_that_are_not_ready() -> None:
    ordered = pool(podManagementPolicy="OrderedReady")
    pods = {each.name: each for each in (member("data-0"), member("data-1", ready=False))}
    assert blockers_of(ordered, pods, "data-2") == ("data-1",)
    assert blockers_of(ordered, {}, "data-1") == ("data-0",)
    assert blockers_of(ordered, {"data-0": member("data-0")}, "data-1") == ()
    assert blockers_of(pool(), pods, "data-2") == ()
