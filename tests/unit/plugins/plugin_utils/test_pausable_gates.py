"""The tasks of a batch whose wait a pause ends."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.plugin_utils.pausable_gates import lock_of_gate

Json = dict[str, Any]


@pytest.mark.parametrize(
    ("module", "arguments", "ends"),
    [
        ("cluster_health_gate", {"moment": "before_batch"}, True),
        ("cluster_health_gate", {"moment": "before_stop"}, True),
        ("pod_ondelete_roll", {"until": "joined"}, True),
        ("process_restart", {"until": "joined"}, True),
        ("node_engine_switch", {"state": "switched"}, True),
        ("shard_allocation", {"state": "prepared"}, True),
        ("machine_upgrade", {"state": "fit"}, True),
        ("openshift_upgrade", {"state": "asked"}, True),
        # A member is down, or its machine is.
        ("pod_ondelete_roll", {}, False),
        ("cluster_health_gate", {"moment": "joined"}, False),
        ("shard_allocation", {"state": "restored"}, False),
        ("machine_upgrade", {"state": "drained"}, False),
        ("openshift_upgrade", {"state": "updated"}, False),
    ],
)
def test_only_a_gate_knows_the_record_in_which_a_person_pauses_the_upgrade(
    module: str, arguments: Json, ends: bool
) -> None:
    lock = {"run": "r1", "name": "cluster"}
    of_run = {"upgrade_lock": lock, "upgrade_record_kept_in": "file", "upgrade_record_path": "/records"}
    given = lock_of_gate(module, arguments, of_run.get)
    assert given.get("lock") == ({**lock, "record": {"kept_in": "file", "path": "/records"}} if ends else None)
    by_default: Json = {"upgrade_lock": lock}
    assert lock_of_gate(module, arguments, by_default.get).get("lock") == ({**lock, "record": {}} if ends else None)
    without: Json = {"upgrade_lock": {}}
    assert lock_of_gate(module, arguments, without.get) == {}
