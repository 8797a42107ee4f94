"""The diff of configurations: settings that differ, with everything hidden that may be a secret."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.configuration_diff import (
    changes_of,
    names_of,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.setting_rules import SettingEffect

OLD = b"node.attr.zone: a\nxpack.http.proxy.password: hunter1\ncluster.name: same\n"
NEW = b"node:\n  attr.zone: b\nxpack.http.proxy.password: hunter2\ncluster.name: same\n"


@pytest.mark.parametrize("broken", [b"\xff\xfehunter3", b"{hunter3", b"a: 1\na: hunter3"])
def test_a_content_that_cannot_be_read_is_shown_nowhere(broken: bytes) -> None:
    assert names_of(broken, NEW, "a-0") == names_of(NEW, broken, "a-0") == []
    with pytest.raises(Refusal) as caught:
        changes_of(NEW, broken, "a-0")
    assert "configuration of member a-0" in str(caught.value)
    assert "hunter" not in str(caught.value)


def test_a_users_way_and_the_settings_of_the_pod_count() -> None:
    found = changes_of(
        OLD, NEW, "a-0", {"node.*": SettingEffect.COORDINATED}, {"xpack.http.proxy.password": "the variable X"}
    )
    assert [each.way for each in found.changes] == [SettingEffect.COORDINATED, SettingEffect.NEW_POD]
