"""Replacing pods batch by batch: exactly those of the batch, once, and the strategy put back as it was."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Conflict
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.pods import pod_path
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.undo_annotation import UNDO

from tests.lab.waiting import until
from tests.scenarios.kubernetes.room import CONTAINER, NEW, OLD, TIMEOUT, Room, codes, image_of, member


def test_the_image_is_set_and_no_pod_is_touched(room: Room) -> None:
    room.up()
    uids = room.uids()
    planned = room.set_image(check_mode=True)
    assert planned.changed
    assert planned.after is not None
    assert planned.after["images"] == {CONTAINER: NEW}
    assert image_of(room.json()) == OLD
    assert room.set_image().changed
    assert not room.set_image().changed
    early = room.restore()
    assert not early.changed
    assert early.verdict.reasons[0].code == "strategy_kept"
    assert room.uids() == uids


def test_the_whole_way(room: Room) -> None:
    room.up()
    was = room.json()["spec"]["updateStrategy"]
    assert was["type"] == "RollingUpdate"
    before = room.uids()
    assert room.set_image().changed
    # One look only: before the controller has seen the change there is nothing to plan yet.
    until("a plan for the new revision", lambda: room.roll(member(2), check_mode=True).changed, TIMEOUT)
    assert room.uids() == before

    one = room.roll(member(2))
    assert one.verdict.passed, one.verdict
    assert one.changed
    after = room.uids()
    assert [name for name in before if before[name] != after[name]] == [member(2)]
    assert not room.roll(member(2)).changed
    assert room.uids() == after

    both = room.roll(member(1), member(0))
    assert both.verdict.passed, both.verdict
    assert [each["action"] for each in both.more["members"]] == ["replaced", "replaced"]
    final = room.uids()

    back = room.restore()
    assert back.changed
    assert not back.verdict.reasons
    assert room.json()["spec"]["updateStrategy"] == was
    assert UNDO not in room.json()["metadata"].get("annotations", {})
    assert not room.restore().changed
    assert room.uids() == final


def test_a_partition_that_somebody_uses(room: Room) -> None:
    room.up(strategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 2}})
    strategy = room.json()["spec"]["updateStrategy"]
    uid = room.uids()[member(2)]
    # Its owner changes the image: the controller itself rolls the pods from the partition on.
    room.apply(strategy=strategy, image=NEW)
    room.until_replaced(member(2), uid)
    until("the pool's pods to be Ready", room.settled, TIMEOUT)

    assert codes(room.roll(member(1)))[0] == "strategy_keeps_old_revision"
    assert room.set_image().changed, "the image is there; the strategy is not"
    rolled = room.roll(member(1), member(0))
    assert rolled.verdict.passed, rolled.verdict
    assert room.restore().changed
    assert room.json()["spec"]["updateStrategy"] == strategy
    final = room.uids()
    assert not room.roll(member(0)).changed
    assert room.uids() == final


def test_a_pod_of_another_uid_is_not_deleted(room: Room) -> None:
    room.up()
    before = room.uids()
    with pytest.raises(Conflict, match="UID in the precondition"):
        room.upgrader.delete(pod_path(room.namespace, member(0)), "00000000-0000-0000-0000-000000000000")
    assert room.uids() == before


def test_somebody_replaces_the_pod_between_the_look_and_the_deletion(room: Room) -> None:
    room.up()
    room.set_image()

    def proof() -> Verdict:
        uid = room.uids()[member(0)]
        room.admin.delete(pod_path(room.namespace, member(0)), uid)
        room.until_replaced(member(0), uid)
        return Verdict()

    outcome = room.roll(member(0), proof=proof)
    assert outcome.verdict.passed, outcome.verdict
    assert not outcome.changed
