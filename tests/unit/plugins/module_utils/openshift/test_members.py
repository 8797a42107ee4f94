"""The Kubernetes nodes of each pool, in the order in which the machine config operator takes them."""

from __future__ import annotations

from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.kinds import SYSTEM, WINDOWS, ZONE
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.look import members_of
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.reading import node
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.state import ConfiguredNode

from . import seen


def _node(name: str, created: str, **labels: str) -> ConfiguredNode:
    metadata = {"name": name, "creationTimestamp": created, "labels": {"role": "worker", **labels}}
    return node(name, {"metadata": metadata})


def _members(*nodes: ConfiguredNode) -> tuple[str, ...]:
    pools = {name: seen.pool(name) for name in seen.NAMES}
    return members_of(pools, {each.name: each for each in nodes})["worker"]


def test_those_without_a_zone_come_last_and_the_oldest_of_a_zone_first() -> None:
    found = _members(
        _node("plain-old", "2026-01-01T00:00:00Z"),
        _node("b", "2026-01-02T00:00:00Z", **{ZONE: "b"}),
        _node("a-young", "2026-01-04T00:00:00Z", **{ZONE: "a"}),
        _node("a-old", "2026-01-03T00:00:00Z", **{ZONE: "a"}),
        _node("plain-young", "2026-01-05T00:00:00Z"),
    )
    assert found == ("a-old", "a-young", "b", "plain-old", "plain-young")


def test_one_of_windows_is_in_no_pool() -> None:
    """The machine config operator leaves it alone, and so its annotations are missing."""
    windows = _node("windows", "2026-01-01T00:00:00Z", **{SYSTEM: WINDOWS})
    linux = _node("linux", "2026-01-02T00:00:00Z", **{SYSTEM: "linux"})
    assert _members(windows, linux) == ("linux",)
