"""The legs of a chain of upgrades: where the control plane goes, and where workers have to go first."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.release import Release
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.judge.legs import (
    Leg,
    judge_left_behind,
    legs_of,
    legs_text,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.judge.order import digest, turns, versions
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.minors import kubernetes_minor
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.state import HistoryEntry, OpenShift

from tests.unit.plugins.module_utils.openshift.seen import node, openshift, pool, target, version

MASTERS = ["m-0", "m-1", "m-2"]


def entry(of: str, state: str = "Completed") -> HistoryEntry:
    return HistoryEntry(of, state, "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z")


def at(*history: str, workers: str = "", partial: str = "") -> OpenShift:
    """An OpenShift whose control plane has come through these versions, the newest first, with workers on a version."""
    known = (*([entry(partial, "Partial")] if partial else []), *map(entry, history))
    on = workers or history[-1]
    kubelet = f"v1.{kubernetes_minor(Release.parse(on))}.3"
    nodes = {name: node(name, history[0]) for name in MASTERS}
    nodes |= {name: replace(node(name, on), kubelet=kubelet) for name in ("w-0", "w-1", "w-2")}
    pools = {"master": pool("master", history[0]), "worker": pool("worker", history[0])}
    said = version(history=known, desired=partial or history[0], wanted=partial)
    return openshift(version=said, pools=pools, nodes=nodes)


def releases(*of: str) -> tuple[Release, ...]:
    return tuple(map(Release.parse, of))


def shown(legs: Sequence[Leg]) -> list[str]:
    return [f"{'workers' if each.of_workers else 'masters'} {each.release}" for each in legs]


@pytest.mark.parametrize(
    ("seen", "through", "goal", "expected"),
    [
        (at("4.18.2"), (), "4.19.0", ["masters 4.19.0", "workers 4.19.0"]),
        (at("4.18.2"), ("4.19.4",), "4.20.2", ["masters 4.19.4", "masters 4.20.2", "workers 4.20.2"]),
        (
            at("4.19.4"),
            ("4.20.2",),
            "4.21.0",
            ["masters 4.20.2", "workers 4.20.2", "masters 4.21.0", "workers 4.21.0"],
        ),
        # A version of the same minor version takes no workers.
        (
            at("4.18.1"),
            ("4.18.5", "4.19.4"),
            "4.20.2",
            ["masters 4.18.5", "masters 4.19.4", "masters 4.20.2", "workers 4.20.2"],
        ),
        # In the middle of a chain, before and behind the workers.
        (at("4.20.2", "4.19.4"), ("4.20.2",), "4.21.0", ["workers 4.20.2", "masters 4.21.0", "workers 4.21.0"]),
        (at("4.20.2", "4.19.4", workers="4.20.2"), ("4.20.2",), "4.21.0", ["masters 4.21.0", "workers 4.21.0"]),
        (at("4.19.4", "4.18.2"), ("4.19.4",), "4.20.2", ["masters 4.20.2", "workers 4.20.2"]),
        (at("4.18.2", partial="4.19.4"), ("4.19.4",), "4.20.2", ["masters 4.19.4", "masters 4.20.2", "workers 4.20.2"]),
        (at("4.20.2", "4.19.4", "4.18.2"), ("4.19.4",), "4.20.2", ["workers 4.20.2"]),
        # The workers of 5 stay behind for up to three minor versions, counted from 5.2 on.
        (at("4.22.5"), ("5.0.3",), "5.1.2", ["masters 5.0.3", "masters 5.1.2", "workers 5.1.2"]),
        (
            at("4.21.5"),
            ("4.22.1",),
            "5.0.3",
            ["masters 4.22.1", "workers 4.22.1", "masters 5.0.3", "workers 5.0.3"],
        ),
        (
            at("5.2.9"),
            ("5.3.1", "5.4.1"),
            "5.5.2",
            ["masters 5.3.1", "masters 5.4.1", "masters 5.5.2", "workers 5.5.2"],
        ),
        (
            at("5.1.9"),
            ("5.2.1",),
            "5.3.2",
            ["masters 5.2.1", "workers 5.2.1", "masters 5.3.2", "workers 5.3.2"],
        ),
    ],
)
def test_workers_go_only_where_kubelets_would_be_too_far_behind(
    seen: OpenShift, through: tuple[str, ...], goal: str, expected: list[str]
) -> None:
    assert shown(legs_of(seen, Release.parse(goal), releases(*through))) == expected


def test_each_chain_keeps_kubelets_near_enough_and_takes_no_workers_in_vain() -> None:
    """A checker of its own: the rule of the operator that is against another minor version."""
    for first, count, reached in itertools.product((16, 17, 18, 19), (1, 2, 3, 4, 5), (0, 1, 2)):
        way = [f"4.{minor}.1" for minor in range(first, first + count + 1)]
        past = way[: min(reached, count - 1) + 1]
        legs = legs_of(at(*past[::-1]), Release.parse(way[-1]), releases(*way[1:-1]))
        masters, workers = Release.parse(past[-1]).minor, first
        for leg, following in itertools.zip_longest(legs, legs[1:]):
            if leg.of_workers:
                assert leg.release.minor == masters
                needless = following is not None and following.release.minor - workers <= (
                    1 if following.release.minor % 2 else 2
                )
                assert not needless
                workers = masters
            else:
                assert leg.release.minor == masters + 1
                masters += 1
                assert masters - workers <= (1 if masters % 2 else 2)
        assert (masters, workers) == (first + count, first + count)


def test_batches_of_a_version_on_the_way_carry_it() -> None:
    found = turns(at("4.19.4"), Release.parse("4.21.0"), through=releases("4.20.2"))
    assert [(list(each.members), each.target) for each in found] == [
        (MASTERS, "4.20.2"),
        (["w-0"], "4.20.2"),
        (["w-1"], "4.20.2"),
        (["w-2"], "4.20.2"),
        (MASTERS, ""),
        (["w-0"], ""),
        (["w-1"], ""),
        (["w-2"], ""),
    ]
    assert [each.reason for each in found[:2]] == [
        "the control plane goes to 4.20.2",
        "next of worker in zone a, to 4.20.2",
    ]


def test_the_digest_covers_the_versions_on_the_way_and_not_how_far_they_are() -> None:
    wanted, chain = target("4.20.2"), releases("4.19.4")
    agreed = digest(at("4.18.2"), wanted, through=chain)
    assert agreed == digest(at("4.19.4", "4.18.2"), wanted, through=chain)
    assert agreed != digest(at("4.18.2"), wanted)
    assert agreed != digest(at("4.18.2"), wanted, through=releases("4.19.0"))


def test_the_version_of_a_worker_is_that_of_its_kubelet() -> None:
    goal = Release.parse("4.20.2")
    assert versions(at("4.19.4", "4.18.2"), goal)["w-0"] == "4.18.2"
    assert versions(at("4.20.2", "4.19.4", "4.18.2"), goal) == {
        **dict.fromkeys(MASTERS, "4.20.2"),
        **dict.fromkeys(("w-0", "w-1", "w-2"), "4.18.2"),
    }


def test_the_sentence_names_each_stop() -> None:
    once = legs_of(at("4.18.2"), Release.parse("4.20.2"), releases("4.19.4"))
    assert legs_text(once, workers=True) == "control plane to 4.19.4, then to 4.20.2; workers once, to 4.20.2"
    assert legs_text(once, workers=False) == "control plane to 4.19.4, then to 4.20.2"
    twice = legs_of(at("4.20.2", "4.19.4"), Release.parse("4.21.0"), releases("4.20.2"))
    assert legs_text(twice, workers=True) == "control plane to 4.21.0; workers to 4.20.2, then to 4.21.0"


def test_a_paused_pool_may_be_two_versions_behind_an_even_one_alone() -> None:
    seen = at("4.18.2")
    paused = replace(seen, pools={**seen.pools, "worker": replace(seen.pools["worker"], paused=True)})
    assert judge_left_behind(paused, releases("4.19.4", "4.20.2")).passed
    (reason,) = judge_left_behind(paused, releases("4.19.4", "4.20.2", "4.21.0")).reasons
    assert "too far behind 4.21.0" in reason.message
    assert judge_left_behind(seen, releases("4.19.4", "4.20.2", "4.21.0")).passed
