"""The figures of each system stand under the name that its records have."""

from __future__ import annotations

from ansible_collections.stateful.upgrade.plugins.module_utils.entry.health_figures import HEALTH
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn import node_engine_plan
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import upgrade_plan
from ansible_collections.stateful.upgrade.plugins.module_utils.restart import restart_plan


def test_the_figures_have_the_names_of_the_systems() -> None:
    assert set(HEALTH) == {each.SYSTEM.name for each in (node_engine_plan, upgrade_plan, restart_plan)}
