"""The lock as a Lease, on objects that have versions: it is written only over what was read."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Conflict, Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock.lease import Lease, lease_path, list_locks
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock.lock import Lock

from tests.sandbox.kubernetes.in_process import InProcess

PATH = lease_path("search", "lock")
OURS = Lock(
    run="night",
    who="ops@bastion",
    since="2026-11-21T02:00:00.000000Z",
    renewed="2026-11-21T02:00:00.000000Z",
    seconds=60,
    place="boot/4026531836",
    processes=("7.1", "8.2"),
    doing="shards are moving",
)
THEIRS = replace(OURS, run="day", who="dev@laptop", doing="", processes=())


def lease(api: InProcess) -> Lease:
    return Lease(api.client(), "search", "lock")


def plain(lock: Lock | None) -> Lock | None:
    """Without the version, which the server gives."""
    return replace(lock, version="") if lock is not None else None


def test_what_is_written_is_read() -> None:
    api = InProcess()
    assert lease(api).read() is None
    made = lease(api).write(OURS, None)
    assert plain(made) == OURS
    assert lease(api).read() == made
    asked = lease(api).write(replace(made, stop="by dev@laptop", doing=""), made)
    assert plain(asked) == replace(OURS, stop="by dev@laptop", doing="")
    assert lease(api).read() == asked


def test_the_lease_is_one_that_other_tools_understand() -> None:
    api = InProcess()
    lease(api).write(THEIRS, None)
    made = api.objects[PATH]
    assert made["spec"] == {
        "holderIdentity": "day",
        "acquireTime": OURS.since,
        "renewTime": OURS.renewed,
        "leaseDurationSeconds": 60,
    }
    assert all(made["metadata"]["annotations"].values()), "what is not known is not noted"


def test_two_that_see_it_free_make_it_once() -> None:
    api = InProcess()
    lease(api).write(OURS, None)
    with pytest.raises(Conflict):
        lease(api).write(THEIRS, None)
    assert plain(lease(api).read()) == OURS


def test_two_that_see_the_same_dead_lock_take_it_once() -> None:
    api = InProcess()
    dead = lease(api).write(OURS, None)
    taken = lease(api).write(THEIRS, dead)
    with pytest.raises(Conflict):
        lease(api).write(replace(OURS, run="third"), dead)
    assert lease(api).read() == taken


def test_a_holder_that_renews_too_late_does_not_get_it_back() -> None:
    api = InProcess()
    held = lease(api).write(OURS, None)
    lease(api).write(THEIRS, held)
    with pytest.raises(Conflict):
        lease(api).write(replace(held, renewed="2026-11-21T02:02:00.000000Z"), held)


@pytest.mark.parametrize("made_again", [False, True])
def test_one_that_was_given_back_meanwhile_is_not_written(made_again: bool) -> None:
    api = InProcess()
    held = lease(api).write(OURS, None)
    lease(api).remove(held)
    if made_again:
        lease(api).write(THEIRS, None)
    with pytest.raises(Conflict):
        lease(api).write(replace(held, stop="by dev@laptop"), held)
    assert plain(lease(api).read()) == (THEIRS if made_again else None)


def test_exactly_the_lock_that_was_read_is_removed() -> None:
    api = InProcess()
    held = lease(api).write(OURS, None)
    asked = lease(api).write(replace(held, stop="by dev@laptop"), held)
    with pytest.raises(Conflict):
        lease(api).remove(held)
    lease(api).remove(asked)
    assert api.objects == {}
    lease(api).remove(asked)


def test_a_free_lease_of_another_tool_is_a_free_lock() -> None:
    api = InProcess()
    api.put_there(PATH, {"metadata": {"name": "lock"}})
    found = lease(api).read()
    assert found is not None
    assert (found.run, found.seconds, found.processes) == ("", 0, ())
    assert lease(api).write(OURS, found).run == "night"


def test_the_locks_of_a_namespace_are_those_of_this_collection() -> None:
    api = InProcess()
    made = lease(api).write(OURS, None)
    api.put_there(lease_path("search", "leader"), {"metadata": {"name": "leader"}, "spec": {"holderIdentity": "x"}})
    api.put_there(lease_path("other", "lock"), {"metadata": {"name": "lock"}})
    assert list_locks(api.client(), "search") == {"lock": made}


def test_a_store_out_of_reach_is_told_as_that() -> None:
    api = InProcess(away=True)
    with pytest.raises(Unreachable):
        lease(api).read()
