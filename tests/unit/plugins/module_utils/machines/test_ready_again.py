"""The pods that machines had before they went: the note about them, and whether they are Ready again."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import NotUnderstood
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.judge.ready_again import (
    judge_ready_again,
    left_to_come,
    noted_still,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.ready_before import (
    MissingPods,
    ReadyBefore,
    UnreadyPod,
    joined,
    kind_in,
    read_note,
    stays,
    written,
)

PROXY = ReadyBefore("DaemonSet", "kube-system", "kube-proxy", 1)
WEB = ReadyBefore("ReplicaSet", "web", "web-5d7", 3)


def missing(*pods: UnreadyPod, machine: str = "w-0", before: ReadyBefore = WEB, ready: int = 1) -> MissingPods:
    """A controller that has fewer Ready pods than before."""
    return MissingPods(machine, before, ready, before.ready, pods)


def test_nothing_is_waited_for_if_nothing_is_missing() -> None:
    assert judge_ready_again([]).passed


def test_pods_are_named_with_their_cause_and_those_not_made_yet_by_their_controller() -> None:
    (reason,) = judge_ready_again([missing(UnreadyPod("web/web-5d7-x", "ImagePullBackOff"))]).reasons
    assert (reason.state, reason.code, reason.about) == (State.WAITING, "pods_not_back", "w-0")
    assert reason.message == (
        "Pods that were Ready before machine w-0 went are not Ready again: web/web-5d7-x (ImagePullBackOff), one of"
        " ReplicaSet web/web-5d7 (1 of 3 Ready)."
    )
    assert "kubectl annotate node w-0 upgrade.stateful/pods-before-" in reason.remedy
    # How many pods the object of an operator wants is not known here.
    assert "those of an operator are waited for anyway" in reason.remedy


def test_no_more_pods_are_named_than_are_missing_and_only_the_first_few() -> None:
    unready = [UnreadyPod(f"web/web-{each}", "") for each in range(9)]
    assert "web/web-0, web/web-1." in judge_ready_again([missing(*unready)]).reasons[0].message
    of_proxy = missing(UnreadyPod("kube-system/kube-proxy-a", ""), before=PROXY, ready=0)
    many = ReadyBefore("StatefulSet", "web", "web", 9)
    said = judge_ready_again([of_proxy, missing(*unready, before=many, ready=0)]).reasons[0].message
    assert said.endswith(": kube-system/kube-proxy-a, web/web-0, web/web-1, web/web-2, web/web-3 and 5 more.")


def test_each_machine_has_a_reason_of_its_own_and_pods_that_come_back_are_progress() -> None:
    found = [missing(), missing(before=PROXY, ready=0, machine="w-1")]
    assert [each.about for each in judge_ready_again(found).reasons] == ["w-0", "w-1"]
    assert left_to_come(found) == {"pods_not_back": (3.0,)}
    assert left_to_come(found[1:]) == {"pods_not_back": (1.0,)}


def test_a_note_that_stays_is_a_remark() -> None:
    (reason,) = noted_still([missing()])
    assert (reason.state, reason.code) == (State.PASSED, "pods_not_back")
    assert "The next run waits for them." in reason.message


def test_a_note_is_read_as_it_was_written() -> None:
    note = written([WEB, PROXY])
    assert note == '[["DaemonSet","kube-system","kube-proxy",1],["ReplicaSet","web","web-5d7",3]]'
    assert read_note("w-0", note) == (PROXY, WEB)
    assert read_note("w-0", "") == ()


@pytest.mark.parametrize(
    "note",
    [
        "web",
        "1",
        '{"web": 3}',
        '["ReplicaSet"]',
        '[[["a.b"],"web","web",1]]',
        '[["Job","web","web",1]]',
        '[["ReplicaSet","web","",1]]',
        '[["ReplicaSet","web",["web"],1]]',
        '[["ReplicaSet","web","web",true]]',
        "[" * 100_000,
    ],
)
def test_a_note_that_no_run_writes_is_refused_with_the_command_that_removes_it(note: str) -> None:
    with pytest.raises(NotUnderstood) as refused:
        read_note("w-0", note)
    assert "kubectl annotate node w-0 upgrade.stateful/pods-before-" in refused.value.verdict.reasons[0].remedy


def test_the_number_of_the_earlier_note_counts_after_a_kill() -> None:
    fewer, other = ReadyBefore("ReplicaSet", "web", "web-5d7", 2), ReadyBefore("StatefulSet", "web", "db", 1)
    assert joined([WEB], [fewer, other]) == (WEB, other)
    assert joined([], [fewer]) == (fewer,)


@pytest.mark.parametrize(
    ("version", "kind", "named"),
    [
        ("apps/v1", "StatefulSet", "StatefulSet"),
        ("apps.kruise.io/v1beta1", "StatefulSet", "StatefulSet.apps.kruise.io"),
        ("postgresql.cnpg.io/v1", "Cluster", "Cluster.postgresql.cnpg.io"),
        ("v1", "ReplicationController", "ReplicationController"),
    ],
)
def test_any_controller_of_pods_that_run_on_is_waited_for_and_stands_in_the_note(
    version: str, kind: str, named: str
) -> None:
    assert stays(version, kind, {})
    assert stays(version, kind, {"restartPolicy": "Always"})
    assert kind_in(version, kind) == named
    found = ReadyBefore(kind_in(version, kind), "shop", "orders", 2)
    assert read_note("w-0", written([found])) == (found,)


@pytest.mark.parametrize(
    ("version", "kind", "policy"),
    [("batch/v1", "Job", "OnFailure"), ("argoproj.io/v1alpha1", "Workflow", "Never"), ("v1", "Node", "Always")],
)
def test_pods_that_run_to_their_end_and_static_pods_are_not_waited_for(version: str, kind: str, policy: str) -> None:
    assert not stays(version, kind, {"restartPolicy": policy})
