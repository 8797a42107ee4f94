"""The members that may join, and that a narrowed plan locks out, against the servers' rules written again here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.admission import (
    MODE,
    admits,
    judge_left,
    judge_migration,
    judge_stored_format,
    left_by,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.named_pools import pools_named
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.pools import Pool
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.state import ClusterState
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.version import Version
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    Json,
    cluster,
    coordination,
    index_metadata,
    info,
)
from hypothesis import assume, given
from hypothesis import strategies as st

MASK = 0x08000000
ROLES: Mapping[str, Sequence[str]] = {"d": ("data",), "m": ("cluster_manager",), "c": ()}
"""By the first letter of a member's name."""
TEXT = {2: "2.19.6", 3: "3.6.0"}
OLD, NEW = Version(2, 19, 6), Version(3, 6, 0)


def state_of(versions: Mapping[str, str], **indices: Json) -> ClusterState:
    members = {name: info(name, version, ROLES[name[0]]) for name, version in versions.items()}
    return cluster(members, voting=coordination(name for name in versions if name[0] == "m"), indices=indices)


def closed(created: int | None) -> Json:
    """A closed index, which has no shards to report."""
    metadata = index_metadata(created or 0)
    if created is None:
        del metadata["settings"]["index"]["version"]
    return {**metadata, "state": "close"}


@pytest.mark.parametrize(
    ("present", "created", "version", "expected"),
    [
        ({"d-0": "2.19.6"}, (MASK ^ 2190699,), OLD, True),
        ({"d-0": "2.19.6", "d-1": "3.6.0"}, (MASK ^ 2190699,), OLD, True),
        ({"d-0": "3.6.0", "d-1": "3.6.0"}, (), OLD, False),
        ({"d-0": "3.6.0", "c-0": "2.19.6"}, (MASK ^ 3060099,), OLD, False),
        ({"d-0": "3.6.0"}, (MASK ^ 3060099,), NEW, True),
        ({"d-0": "3.6.0"}, (MASK ^ 3060099,), Version(3, 5, 0), False),
        ({"d-0": "3.6.0"}, (MASK ^ 2190699,), Version(3, 5, 0), True),
        ({"d-0": "2.19.6"}, (7100299,), OLD, True),
        ({"d-0": "2.19.6"}, (None,), OLD, False),
    ],
)
def test_whom_the_servers_let_join(
    present: dict[str, str], created: tuple[int | None, ...], version: Version, expected: bool
) -> None:
    state = state_of(present, **{f"i{number}": closed(one) for number, one in enumerate(created)})
    assert admits(state, version) is expected


def of_pods(
    name: str, members: Sequence[str], state: ClusterState, image: str = "server:2", *, part: bool = False
) -> Pool:
    """A pool of pods; without a container it is one of plain hosts."""
    (found,) = pools_named({name: members}, state, "zone")
    return Pool(name, found.members, "server", image, "server:3", by_partition=part)


def lets_rejoin(versions: Mapping[str, int], name: str, version: int) -> bool:
    """The servers' rule, for majors alone: `name` has stopped, an index was made, and it comes back on `version`.

    Without a majority of the managers no index is made, and who comes back is elected and takes the others in.
    """
    others = {other: major for other, major in versions.items() if other != name}
    managers = [other for other in versions if other[0] == "m"]
    if name in managers and len(managers) <= 2:
        return True
    created = min((major for other, major in others.items() if other[0] in "dm"), default=max(others.values()))
    return version >= min(others.values()) and version >= created


@given(
    st.lists(st.sampled_from(["d-0", "d-1", "d-2", "m-0", "m-1", "c-0", "c-1"]), unique=True, min_size=2),
    st.data(),
)
def test_whoever_a_plan_of_a_new_major_leaves_can_join_again_or_it_is_refused(
    names: list[str], data: st.DataObject
) -> None:
    before = {name: data.draw(st.sampled_from([2, 2, 2, 3]), name) for name in names}
    going = data.draw(st.lists(st.sampled_from(names), unique=True))
    pods = data.draw(st.booleans())
    assume(any(before[name] == 2 for name in going))
    state = state_of({name: TEXT[major] for name, major in before.items()})
    groups = {kind: [name for name in names if name[0] == kind] for kind in sorted({name[0] for name in names})}
    pools = (
        [of_pods(kind, members, state) for kind, members in groups.items()] if pods else pools_named(groups, state, "")
    )
    after = {name: 3 if name in going else major for name, major in before.items()}
    # Pods of a pool that gets the new image for others keep the old one when their container restarts.
    locked = [name for name, major in after.items() if not lets_rejoin(after, name, major)]
    for allowed in (False, True):
        verdict = judge_left(state, pools, going, NEW, allowed=allowed)
        assert [reason.code for reason in verdict.reasons] == ["left_behind"] * bool(locked)
        assert verdict.state is (State.REFUSED if locked and not allowed else State.PASSED)
        assert all(name in reason.message for reason in verdict.reasons for name in locked)
    assert left_by(state, pools, going, NEW) == sorted(name for name, major in after.items() if major == 2)


def test_what_is_seen_of_a_coordinating_member_that_the_pools_leave_out() -> None:
    state = state_of({"d-0": "2.19.6", "d-1": "2.19.6", "m-0": "2.19.6", "c-0": "2.19.6"})
    pools = [of_pods("data", ["d-0", "d-1"], state), of_pods("managers", ["m-0"], state)]
    (reason,) = judge_left(state, pools, ["d-0", "d-1", "m-0"], NEW, allowed=False).reasons
    assert reason.message == (
        "c-0 stays on 2.19.6, while every other member that holds data or can be elected goes to 3.6.0 or runs it"
        " already. Once stopped, it can no longer join."
    )
    # Between minor versions, and where the plan does nothing more, it is said.
    for target, going in ((Version(2, 19, 7), ["d-0", "d-1", "m-0"]), (Version(2, 19, 7), [])):
        there = state_of({"d-0": str(target), "d-1": str(target), "m-0": str(target), "c-0": "2.19.6"})
        (said,) = judge_left(state if going else there, pools, going, target, allowed=False).reasons
        assert (said.code, said.state) == ("left_behind", State.PASSED)


def test_a_member_that_is_away_and_left_out_is_counted_too() -> None:
    state = state_of({"d-0": "2.19.6", "m-0": "2.19.6"})
    pools = [
        of_pods("data", ["d-0"], state),
        of_pods("managers", ["m-0"], state),
        of_pods("coordinating", ["c-0"], state),
    ]
    # Without the only manager no index is made, and it takes the others in when it is back.
    assert judge_left(state, pools, ["d-0", "c-0"], NEW, allowed=False).passed
    assert judge_left(state, pools, ["d-0"], NEW, allowed=False).passed
    (reason,) = judge_left(state, pools, ["d-0", "m-0"], NEW, allowed=False).reasons
    assert reason.message.startswith("c-0 stays on the image of its pool, while ")
    assert left_by(state, pools, ["d-0", "m-0"], NEW) == ["c-0"]


@pytest.mark.parametrize(
    ("image", "part", "pods"), [("server:2", False, True), ("server:2", True, False), ("server:3", False, True)]
)
def test_a_container_that_restarts_keeps_the_image_of_its_pod(image: str, part: bool, pods: bool) -> None:
    state = state_of({"d-0": "2.19.6", "d-1": "2.19.6"})
    pools = [of_pods("data", ["d-0", "d-1"], state, image, part=part)]
    (reason,) = judge_left(state, pools, ["d-1"], NEW, allowed=False).reasons
    assert (reason.code, reason.state) == ("left_behind", State.REFUSED)
    assert ("d-0 would then be away until that pod is deleted" in reason.message) is pods
    assert judge_left(state, pools, ["d-1"], NEW, allowed=True).passed


@pytest.mark.parametrize(
    ("image", "returning", "passed"), [("server:3", (), True), ("server:3", ("d-1",), False), ("server:2", (), False)]
)
def test_one_that_is_away_comes_back_on_the_image_of_its_pod(
    image: str, returning: tuple[str, ...], passed: bool
) -> None:
    state = state_of({"d-0": "2.19.6"})
    pool = replace(of_pods("data", ["d-0", "d-1"], state, image), returning=returning)
    assert judge_left(state, [pool], ["d-0"], NEW, allowed=False).passed is passed


REMOTE = {"remote_store.segment.repository": "segments", "remote_store.translog.repository": "translog"}


@pytest.mark.parametrize(
    ("mode", "attributes", "newest", "passes"),
    [
        ("mixed", REMOTE, "2.19.6", False),
        ("MIXED", REMOTE, "2.19.6", False),
        # The servers compare with the newest member: once one runs the target, others may follow.
        ("mixed", REMOTE, "3.6.0", True),
        ("mixed", {}, "2.19.6", True),
        ("mixed", {"remote_store.state.repository": "state"}, "2.19.6", True),
        ("strict", REMOTE, "2.19.6", True),
        (None, REMOTE, "2.19.6", True),
    ],
)
def test_while_a_cluster_moves_to_a_remote_store_no_newer_member_joins(
    mode: str | None, attributes: Mapping[str, str], newest: str, passes: bool
) -> None:
    state = cluster({"a": info("a") | {"attributes": attributes}, "b": info("b", newest)})
    verdict = judge_migration(state, mode, NEW)
    assert verdict.passed is passes
    assert [(reason.code, reason.state) for reason in verdict.reasons] == (
        [] if passes else [("remote_store_migration", State.REFUSED)]
    )
    assert all(MODE in reason.message and "a has a remote store" in reason.message for reason in verdict.reasons)


@pytest.mark.parametrize(
    ("attributes", "versions", "target", "expected"),
    [
        (REMOTE, ["2.19.6", "2.19.6"], "3.8.0", State.REFUSED),
        (REMOTE, ["2.19.6", "2.19.6"], "3.0.0", State.REFUSED),
        # Half of it is upgraded already, by hand.
        (REMOTE, ["3.8.0", "2.19.6"], "3.8.0", State.REFUSED),
        # Of later ones it is not known.
        (REMOTE, ["2.19.6", "2.19.6"], "3.8.1", State.PASSED),
        (REMOTE, ["3.6.0", "3.6.0"], "3.8.0", None),
        (REMOTE, ["2.19.1", "2.19.1"], "2.19.6", None),
        ({}, ["2.19.6", "2.19.6"], "3.8.0", None),
        ({"remote_store.state.repository": "state"}, ["2.19.6", "2.19.6"], "3.8.0", None),
    ],
)
def test_a_target_that_confuses_the_formats_of_a_remote_store_is_refused(
    attributes: Mapping[str, str], versions: Sequence[str], target: str, expected: State | None
) -> None:
    members = {name: info(name, one) | {"attributes": attributes} for name, one in zip("ab", versions, strict=True)}
    reasons = judge_stored_format(cluster(members), Version.parse(target)).reasons
    assert [(one.code, one.state) for one in reasons] == ([("remote_store_format", expected)] if expected else [])
    assert all("2.19.6" in one.message and "3.0.0 to 3.8.0" in one.message for one in reasons)
