"""The questions of a careful operator, asked by the product: managed indices, settings that a version lacks."""

from __future__ import annotations

from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.gates import Scope, judge
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.looking import look
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.version import Version

from tests.sandbox.opensearch.rest.managed import CONFIGURATION, PLUGIN
from tests.sandbox.opensearch.rooms import THREE, TO, Room

WAITING = {
    "action": {"name": "force_merge", "start_time": 1, "index": 0, "failed": False, "consumed_retries": 0},
    "step": {"name": "wait_for_force_merge", "start_time": 1, "step_status": "condition_not_met"},
    "info": {"message": "Force merge still running"},
}
FAILED = {"action": {"name": "shrink", "failed": True}, "info": {"message": "No node is large enough"}}


def said(room: Room) -> dict[str, str]:
    """Code and sentence of what the gate before the upgrade says; copies and disks are as they should be."""
    scope = Scope("before_upgrade", frozenset(THREE), target=Version.parse(TO))
    return {reason.code: reason.message for reason in judge(look(room.client, scope.moment, 0), scope).reasons}


def test_a_force_merge_of_index_state_management_is_waited_for() -> None:
    room = Room(plugins=(PLUGIN,))
    room.index("logs")
    assert "index_action_running" not in said(room)
    room.index(CONFIGURATION)
    room.cluster.state.managed = {"logs": WAITING, CONFIGURATION: FAILED}
    found = said(room)
    assert "force-merges logs (step wait_for_force_merge): Force merge still running." in found["index_action_running"]
    assert "No node is large enough" in found["index_action_failed"]
    room.cluster.state.managed = {f"i-{number}": WAITING for number in range(2)} | {"logs": {}}
    assert not {"index_action_running", "index_management_unread"} & set(said(room)), "indices that are gone"


def test_members_without_the_plugin_manage_nothing() -> None:
    room = Room()
    room.index(CONFIGURATION)
    room.cluster.state.managed = {CONFIGURATION: WAITING}
    answer = room.ask("GET", "/_plugins/_ism/explain?size=1")
    assert (answer.status, "no handler found for uri" in answer.body["error"]) == (400, True)
    assert not {code for code in said(room) if code.startswith("index_")}


def test_a_setting_in_the_file_of_members_is_seen_by_its_whole_name() -> None:
    room = Room(settings={"gateway.recover_after_nodes": "2", "transport.tcp.port": "9300"})
    found = said(room)
    assert "setting gateway.recover_after_nodes in their own configuration: m-0, m-1, m-2." in found["setting_removed"]
    assert "transport.tcp.port" in found["setting_deprecated"]
