"""The first record of an upgrade: the members show whether it is under way."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import Phase, UpgradeEvent
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import begun, ended
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.test_record import NEW, first, plan


@pytest.mark.parametrize(
    ("going", "members", "previous", "phase", "said"),
    [
        ("a", "abc", False, Phase.UPGRADING, "continues: to "),
        ("abc", "abc", False, Phase.PENDING, "begins: to "),
        ("a", "abc", True, Phase.PENDING, "begins: to "),
    ],
)
def test_the_cluster_tells_whether_an_upgrade_without_a_record_is_under_way(
    going: str, members: str, previous: bool, phase: Phase, said: str
) -> None:
    former = ended(first("a"), UpgradeEvent.COMPLETED, "", "t2") if previous else None
    record = begun(former, plan(*going, members=members), "day", "dev", "t3")
    assert record is not None
    assert record.phase is phase
    assert record.history[-1].message.startswith(said)


def test_members_to_be_replaced_on_the_version_that_they_run_are_no_sign_of_an_upgrade_under_way() -> None:
    restarted = {**plan("a"), "before": {"a": f"{NEW} (to restart)", "b": NEW, "c": None}}
    record = begun(None, restarted, "day", "dev", "t3")
    assert record is not None
    assert record.phase is Phase.PENDING
