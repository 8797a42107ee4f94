"""Settings of Longhorn, whose values are read as longhorn-manager reads them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.conditions import StatusCondition
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.judge.preflight import preflight
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.judge.upgrades import automatic
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.observe.state import Longhorn
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.observe.upgrades import UpgradeKinds, Upgrades

from tests.unit.plugins.module_utils.longhorn.world import NEW, Places, with_node, world

NODES = ("n1", "n2", "n3")
S1: Places = {"vol-1": ("n1", NODES)}


def with_settings(seen: Longhorn, **settings: str) -> Longhorn:
    return replace(seen, settings={**seen.settings, **settings})


def blockers(seen: Longhorn) -> set[str]:
    return {each.code for each in preflight(seen, NODES, NEW, {"instance_manager_replacement"}).reasons}


@pytest.mark.parametrize("off", ["false", "False", "0", '{"v2":"false"}', '{"v2": "F"}'])
def test_a_setting_has_the_value_that_longhorn_reads(off: str) -> None:
    bare = with_node(world(S1), "n2", conditions={"Ready": StatusCondition("True", "", "")})
    assert "huge_pages_unknown" in blockers(bare)
    assert "huge_pages_unknown" not in blockers(with_settings(bare, **{"data-engine-hugepage-enabled": off}))
    for none, limit in ((True, "0"), (True, " 0"), (True, "00"), (False, "10"), (False, "")):
        limited = with_settings(world(S1), **{"concurrent-replica-rebuild-per-node-limit": limit})
        assert ("no_rebuild_slots" in blockers(limited)) is none


@pytest.mark.parametrize(("value", "on"), [("true", True), ("True", True), ("1", True), ("false", False), ("", False)])
def test_upgrades_of_longhorn_by_itself_are_seen_however_they_are_written(value: str, on: bool) -> None:
    seen = with_settings(world(S1), **{"allow-v2-instance-manager-automatic-upgrade": value})
    seen = replace(seen, upgrades=Upgrades(UpgradeKinds.INSTANCE_MANAGER_UPGRADES))
    assert ([each.code for each in automatic(seen)] == ["upgrades_automatic"]) is on
