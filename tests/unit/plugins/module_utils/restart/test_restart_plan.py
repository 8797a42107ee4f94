"""Plans of restarts on an API server in memory: who is due, by which effect, and one line for each changed setting."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import size_plan
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.explanation import Move
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.configuration import checksum
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.once import REQUEST, Carried
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.restart_plan import SYSTEM
from ansible_collections.stateful.upgrade.plugins.module_utils.run.runs import contract_of
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import copy
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.plan_room import (
    PODS,
    SETS,
    Room,
    furnished,
    order_of,
)

from tests.sandbox.kubernetes.objects import copied

SECRET = "/api/v1/namespaces/search/secrets/data-configuration"
BASE = "cluster.name: search\nnode.name: ${POD_NAME}\n"
MEMBERS = ["data-1", "data-0"]


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Room:
    """A cluster whose pool data reads its configuration from a Secret that is mounted as a directory."""
    made = furnished(monkeypatch)
    spec = made.api.objects[f"{SETS}/data"]["spec"]["template"]["spec"]
    spec["containers"][0]["volumeMounts"].append({"name": "configuration", "mountPath": "/configuration"})
    spec["volumes"].append({"name": "configuration", "secret": {"secretName": "data-configuration"}})
    keep(made, dict.fromkeys(MEMBERS, BASE))
    monkeypatch.setattr(size_plan, "connect", lambda *_options: None)
    monkeypatch.setattr(size_plan, "explain_moves", lambda *_asked: [])
    return made


def keep(room: Room, contents: Mapping[str, str]) -> None:
    """Write the Secret with these keys."""
    data = {name: base64.b64encode(text.encode()).decode() for name, text in contents.items()}
    metadata = {"name": "data-configuration", "labels": {"upgrade.stateful/configuration": "data"}}
    room.api.put_there(SECRET, {"metadata": metadata, "data": data})


def annotate(room: Room, pod: str, **annotations: str) -> None:
    found = {f"upgrade.stateful/{key.replace('_', '-')}": text for key, text in annotations.items()}
    room.api.objects[f"{PODS}/{pod}"]["metadata"]["annotations"] = found


def plan(room: Room, added: str | None = None, **params: Any) -> dict[str, Any]:
    """The plan for a configuration of pool data with these lines more; None gives no configuration."""
    given = {name: option.get("default") for name, option in contract_of(SYSTEM).argument_spec.items()}
    given |= {"namespace": "search", "opensearch": {}, "kubernetes": {}}
    if added is not None:
        given["configuration"] = [{"pool": "data", "content": BASE + added}]
    return perform(SYSTEM.order, Task({**given, **params}, clock=room.clock))


def begun(room: Room, result: Mapping[str, Any], completed: str = "", left: Sequence[str] = ()) -> None:
    """Note a run that has started with this plan, and what it has `left` if it was completed."""
    noted = result["restart_request"]
    lists = {name: tuple(noted[name]) for name in ("replaced", "scheduled", "members")}
    note = Carried(noted["digest"], noted["base"], completed=completed, left=tuple(left), **lists)
    room.settings[REQUEST] = note.text(room.state.uuid)


def codes(result: Mapping[str, Any]) -> dict[str, str]:
    return {one["code"]: one["state"] for one in result["verdict"]["reasons"] if one["code"] != "role_unserved"}


def ways(result: Mapping[str, Any]) -> list[str]:
    return [batch["by"] for batch in result["batches"]]


def groups(result: Mapping[str, Any]) -> list[list[str]]:
    return [batch["members"] for batch in result["batches"]]


def test_without_a_configuration_every_process_restarts_in_its_pod(room: Room) -> None:
    result = plan(room)
    assert (len(order_of(result)), {*ways(result)}) == (6, {"process"})
    assert (result["course"], result["details"]) == ("rolling", [])


def test_members_that_run_the_configuration_are_left_alone(room: Room) -> None:
    result = plan(room, "")
    assert (result["batches"], result["course"]) == ([], "nothing")
    assert order_of(plan(room, "node.attr.rack: r1\n")) == MEMBERS
    wanted = f"{BASE}node.attr.rack: r1\n"
    annotate(room, "data-0", configuration=checksum(wanted.encode()))
    keep(room, {"data-0": wanted, "data-1": BASE})
    assert order_of(plan(room, "node.attr.rack: r1\n")) == ["data-1"]


def test_each_changed_setting_is_one_line_with_its_need_and_no_value(room: Room) -> None:
    result = plan(room, "node.attr.rack: r17\nhttp.port: 9201\n")
    assert [each["name"] for each in result["changes"]] == ["http.port", "node.attr.rack"]
    assert result["details"][0] == "2 pods are replaced."
    assert result["details"][1].startswith("http.port is set for pool data, which needs new pods: the probes")
    assert "r17" not in str(result)
    assert "9201" not in str(result)


def test_diff_mode_shows_values_but_for_those_that_may_be_secrets(room: Room) -> None:
    given = {name: option.get("default") for name, option in contract_of(SYSTEM).argument_spec.items()}
    given |= {"namespace": "search", "opensearch": {}, "kubernetes": {}}
    content = f"{BASE}node.attr.rack: r17\nmy.password: hunter2\n"
    given["configuration"] = [
        {"pool": "data", "content": content, "contents": {"data-1": f"{BASE}node.attr.rack: r18\n"}}
    ]
    found = perform(SYSTEM.order, Task(given, clock=room.clock, diff_mode=True))["diff"]
    assert found["after"]["settings of data-0"] == {"node.attr.rack": "r17", "my.password": "(hidden)"}
    assert found["after"]["settings of data-1"] == {"node.attr.rack": "r18"}
    assert found["before"]["settings of data-0"] == {}
    assert "hunter2" not in str(found)


@pytest.mark.parametrize(
    ("added", "demand", "way"),
    [
        ("node.attr.rack: r1\n", "auto", "process"),
        ("node.attr.rack: r1\n", "always", "pod"),
        ("http.port: 9201\n", "auto", "pod"),
    ],
)
def test_a_pod_is_replaced_where_that_is_needed_or_demanded(room: Room, added: str, demand: str, way: str) -> None:
    result = plan(room, added, replace_pods=demand)
    assert (order_of(result), ways(result)) == (MEMBERS, [way, way])
    assert "refused" not in codes(result).values()


def test_a_run_that_is_narrowed_to_a_member_tells_of_that_one(room: Room) -> None:
    result = plan(room, "http.port: 9201\n", members=["data-0"])
    assert (order_of(result), result["replaced"]) == (["data-0"], ["data-0"])
    assert result["details"][0] == "1 pod is replaced."


def test_a_demand_for_processes_is_refused_with_the_cause(room: Room) -> None:
    assert codes(plan(room, "http.port: 9201\n", replace_pods="never"))["setting_needs_new_pod"] == "refused"


def test_settings_that_members_take_while_they_run_restart_nobody(room: Room) -> None:
    result = plan(room, "cluster.max_shards_per_node: 900\n")
    assert (result["batches"], result["course"], codes(result)["settings_dynamic"]) == ([], "dynamic", "passed")
    assert order_of(plan(room, "cluster.max_shards_per_node: 900\n", replace_pods="never")) == MEMBERS


def test_a_user_may_know_a_setting_better_than_the_table(room: Room) -> None:
    assert ways(plan(room, "my.plugin: 1\n", setting_needs={"my.*": "new_pod"})) == ["pod", "pod"]
    assert codes(plan(room, "my.plugin: 1\n", setting_needs={"my.*": "perhaps"})) == {"setting_way_unknown": "refused"}


def test_consent_covers_the_checks_that_are_left_out_but_for_the_proof_of_images(room: Room) -> None:
    plain, without_images, without_disk = (
        plan(room, skip_checks=skip)["digest"] for skip in ([], ["images"], ["disk"])
    )
    assert (without_images == plain, without_disk == plain) == (True, False)


def test_a_setting_that_the_pod_itself_sets_takes_a_new_pod(room: Room) -> None:
    spec = room.api.objects[f"{SETS}/data"]["spec"]["template"]["spec"]
    spec["containers"][0]["env"] = [{"name": "node.attr.rack", "value": "r0"}]
    result = plan(room, "node.attr.rack: r1\n")
    assert (ways(result), codes(result)["settings_of_pod"]) == (["pod", "pod"], "passed")


def test_a_secret_that_only_new_pods_read_takes_new_pods(room: Room) -> None:
    mount = room.api.objects[f"{SETS}/data"]["spec"]["template"]["spec"]["containers"][0]["volumeMounts"][1]
    mount.update(mountPath="/usr/share/opensearch/config/opensearch.yml", subPath="data-0")
    result = plan(room, "node.attr.rack: r1\n")
    assert (ways(result), codes(result)["configuration_needs_new_pod"]) == (["pod", "pod"], "passed")
    assert codes(plan(room, "node.attr.rack: r1\n", replace_pods="never"))["configuration_needs_new_pod"] == "refused"


def test_a_secret_that_no_server_would_read_is_refused(room: Room) -> None:
    spec = room.api.objects[f"{SETS}/data"]["spec"]["template"]["spec"]
    spec["volumes"][1] = {"name": "configuration", "configMap": {"name": "settings"}}
    spec["containers"][0]["volumeMounts"][1]["mountPath"] = "/usr/share/opensearch/config"
    assert codes(plan(room, "node.attr.rack: r1\n"))["configuration_not_read"] == "refused"
    assert ways(plan(room, replace_pods="always")) == ["pod"] * 6


def test_a_changed_template_replaces_its_pods_with_the_same_command(room: Room) -> None:
    room.pod("data-0", "2.19.6", revision="data-old")
    result = plan(room)
    assert {batch["members"][0]: batch["by"] for batch in result["batches"] if "data" in batch["name"]} == {
        "data-1": "process",
        "data-0": "pod",
    }
    assert result["replaced"] == ["data-0"]
    assert result["template_changes"] == []
    former = copied(room.api.objects[f"{SETS}/data"]["spec"]["template"])
    former["spec"]["containers"][0]["resources"] = {"limits": {"memory": "1Gi"}}
    former["metadata"] = {"annotations": {"kubectl.kubernetes.io/restartedAt": "today"}}
    revision = {"metadata": {"name": "data-old"}, "revision": 1, "data": {"spec": {"template": former}}}
    room.api.put_there("/apis/apps/v1/namespaces/search/controllerrevisions/data-old", revision)
    told = [
        f"{name} is no longer set for pool data, which needs new pods: it is part of the pod, which takes it only"
        " when it is made"
        for name in ("annotation kubectl.kubernetes.io/restartedAt", "resources of container server")
    ]
    assert plan(room)["details"][-2:] == told
    assert (order_of(plan(room, "")), ways(plan(room, ""))) == (["data-0"], ["pod"])
    stays = plan(room, replace_pods="never")
    assert ({*ways(stays)}, codes(stays)["template_kept"]) == ({"process"}, "passed")


@pytest.mark.parametrize(("way", "stay"), [("kubelet", False), ("agent", True)])
def test_the_plan_says_whether_plugins_stay_that_were_installed_into_a_pod(room: Room, way: str, stay: bool) -> None:
    found = plan(room, way=way)["plugins"]["data"]
    assert (found["stay"], "on no volume" in found["why"]) == (stay, True)


def test_plugins_on_a_volume_of_the_pod_go_with_it(room: Room) -> None:
    spec = room.api.objects[f"{SETS}/data"]["spec"]["template"]["spec"]
    spec["containers"][0]["volumeMounts"].append({"name": "plugins", "mountPath": "/usr/share/opensearch/plugins"})
    spec["volumes"].append({"name": "plugins", "emptyDir": {}})
    assert [plan(room, replace_pods=replaced)["plugins"]["data"]["stay"] for replaced in ("never", "always")] == [
        True,
        False,
    ]


def test_a_template_of_another_version_is_no_restart(room: Room) -> None:
    room.api.objects[f"{SETS}/data"]["spec"]["template"]["spec"]["containers"][0]["image"] = "opensearch:3.8.0"
    assert codes(plan(room, replace_pods="always"))["replacing_changes_version"] == "refused"
    assert "replacing_changes_version" not in codes(plan(room))


def test_a_killed_run_goes_on_by_the_way_that_it_had(room: Room) -> None:
    """The key was written, and the run was killed before the deletion of the pod."""
    new = BASE + "http.port: 9201\n"
    keep(room, {"data-0": BASE, "data-1": new, "data-1.previous": BASE})
    for name in MEMBERS:
        annotate(room, name, restart_phase="schedule-rolling", restart_run="of-before")
    annotate(
        room,
        "data-1",
        restart_phase="schedule-rolling",
        restart_run="of-before",
        restart_configuration=checksum(new.encode()),
    )
    result = plan(room, "http.port: 9201\n")
    assert (sorted(order_of(result)), ways(result)) == (sorted(MEMBERS), ["pod", "pod"])


def test_the_digest_covers_contents_and_demand_and_stays_while_the_plan_is_carried_out(room: Room) -> None:
    first = plan(room, "http.port: 9201\n")["digest"]
    others = [plan(room, "http.port: 9202\n"), plan(room, "http.port: 9201\n", replace_pods="always"), plan(room)]
    assert first not in [each["digest"] for each in others]
    begun(room, plan(room, "http.port: 9201\n"))
    keep(room, {"data-0": BASE, "data-1": f"{BASE}http.port: 9201\n", "data-1.previous": BASE})
    later = plan(room, "http.port: 9201\n")
    assert (order_of(later), later["digest"]) == (["data-0"], first)


def test_a_coordinated_change_is_told_and_takes_all_members(room: Room) -> None:
    result = plan(room, "discovery.type: single-node\n")
    assert (result["course"], len(order_of(result))) == ("coordinated", 6)
    assert result["details"][0].startswith("All processes stop before the first one starts")
    refused = {code for code, state in codes(result).items() if state == "refused"}
    assert refused == {"together_needs_agent", "full_restart_not_allowed"}
    (batch,) = result["batches"]
    assert (batch["together"], len(batch["members"]), batch["by"]) == (True, 6, "process")
    agreed = plan(room, "discovery.type: single-node\n", way="agent", allow_full_restart=True)
    assert not {code for code, state in codes(agreed).items() if state == "refused"}
    annotate(room, "data-0", restart_phase="stop", restart_process="x", restart_member="y")
    assert codes(plan(room, "discovery.type: single-node\n"))["phase_of_other_way"] == "refused"


def test_members_that_are_not_up_are_named_before_all_stop_at_once(room: Room) -> None:
    room.pod("data-0", "2.19.6", ready=False)
    del room.api.objects[f"{PODS}/managers-2"]
    agreed = {"way": "agent", "allow_full_restart": True}
    result = plan(room, "discovery.type: single-node\n", **agreed)
    assert codes(result)["together_not_ready"] == "refused"
    said = [one["message"] for one in result["verdict"]["reasons"] if one["code"] == "together_not_ready"]
    assert ["managers-2 has no pod" in said[0], "data-0 is not Ready" in said[1]] == [True, True]
    annotate(room, "data-0", restart_phase="stop-coordinated", restart_process="x", restart_member="y")
    later = plan(room, "discovery.type: single-node\n", **agreed)
    assert "data-0" not in str([one for one in later["verdict"]["reasons"] if one["code"] == "together_not_ready"])


def test_a_person_who_marks_one_pod_means_that_one(room: Room) -> None:
    room.pod("data-0", "2.19.6", revision="data-old")
    annotate(room, "data-1", restart_phase="schedule")
    assert (order_of(plan(room)), ways(plan(room))) == (["data-1"], ["process"])


def test_pods_that_are_scheduled_at_once_go_in_one_batch_or_not_at_all(room: Room) -> None:
    annotate(room, "data-0", restart_phase="schedule")
    alone = plan(room)
    annotate(room, "managers-0", restart_phase="schedule")
    both = plan(room)
    assert (groups(both), both["verdict"]["state"]) == ([["data-0", "managers-0"]], "passed")
    assert both["digest"] != alone["digest"]
    annotate(room, "data-1", restart_phase="schedule")
    refused = plan(room)
    assert codes(refused)["scheduled_together"] == "refused"


def test_a_pod_that_is_scheduled_alone_waits_for_one_that_is_under_way(room: Room) -> None:
    annotate(room, "data-0", restart_phase="schedule")
    annotate(room, "managers-0", restart_phase="stop", restart_process="someone")
    result = plan(room)
    assert (groups(result), result["verdict"]["state"]) == ([["managers-0"], ["data-0"]], "passed")


def test_a_pool_that_grows_has_its_new_members_in_the_plan_and_in_its_consent(room: Room) -> None:
    same = plan(room, "", configuration=[{"pool": "data", "content": BASE}])
    result = plan(room, configuration=[{"pool": "data", "content": BASE, "replicas": 4}])
    assert (result["added"], result["batches"], result["asks_without_batches"]) == (["data-2", "data-3"], [], True)
    assert {"data-2", "data-3"} <= {*result["members"]}
    assert "data-2, data-3 are added to pool data: the configuration first, then the pod" in result["details"]
    assert (same["asks_without_batches"], same["digest"] == result["digest"]) == (False, False)


def test_members_get_back_what_they_had_before_a_run_that_was_not_completed(room: Room) -> None:
    keep(room, {"data-0": BASE + "a: b\n", "data-0.previous": BASE, "data-1": BASE})
    annotate(room, "data-0", configuration=checksum((BASE + "a: b\n").encode()))
    back = [{"pool": "data", "previous": True}]
    result = plan(room, configuration=back)
    assert (groups(result), [one["name"] for one in result["changes"]]) == ([["data-0"]], ["a"])
    begun(room, result)
    keep(room, {"data-0": BASE, "data-1": BASE})
    annotate(room, "data-0", configuration=checksum(BASE.encode()))
    done = plan(room, configuration=back)
    assert (groups(done), done["digest"]) == ([], result["digest"])
    both = plan(room, configuration=[{**back[0], "content": BASE}])
    assert codes(both)["configuration_or_previous"] == "refused"


def test_a_pool_does_not_grow_by_members_of_another_version(room: Room) -> None:
    room.api.objects[f"{SETS}/data"]["spec"]["template"]["spec"]["containers"][0]["image"] = "opensearch:3.8.0"
    result = plan(room, configuration=[{"pool": "data", "content": BASE, "replicas": 3}])
    assert codes(result)["added_of_other_version"] == "refused"


def test_a_member_that_is_removed_has_a_batch_of_its_own_at_the_end(room: Room) -> None:
    given = [{"pool": "data", "content": BASE + "node.attr.a: b\n", "replicas": 1}]
    result = plan(room, configuration=given)
    assert (groups(result), ways(result)) == ([["data-0"], ["data-1"]], ["process", "removal"])
    assert (result["removed"], result["batches"][1]["expected"]) == (["data-1"], result["members"])
    assert "data-1 is removed from pool data, after the shards have moved away" in result["details"]
    assert "size_in_own_run" in codes(plan(room, configuration=given, members=["data-0"]))


def test_a_member_whose_shards_fit_nowhere_is_not_removed(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    fits_nowhere = Move(("logs[0]",), {"data-0": frozenset({"same_shard"})})
    monkeypatch.setattr(size_plan, "explain_moves", lambda *_asked: [fits_nowhere])
    result = plan(room, configuration=[{"pool": "data", "content": BASE, "replicas": 1}])
    assert codes(result) == {"drain_impossible": "refused"}
    assert "leave the size of the pool as it is" in result["verdict"]["reasons"][-1]["remedy"]


def test_a_process_namespace_that_containers_share_stands_against_signals_and_not_against_new_pods(room: Room) -> None:
    room.api.objects[f"{SETS}/data"]["spec"]["template"]["spec"]["shareProcessNamespace"] = True
    assert codes(plan(room, "node.attr.rack: r1\n"))["process_namespace_shared"] == "refused"
    assert "process_namespace_shared" not in codes(plan(room, "http.port: 9201\n"))


def test_a_probe_that_would_start_a_stopped_server_stands_against_the_agent(room: Room) -> None:
    container = room.api.objects[f"{SETS}/data"]["spec"]["template"]["spec"]["containers"][0]
    container["livenessProbe"] = {"tcpSocket": {"port": 9200}}
    assert codes(plan(room, "node.attr.rack: r1\n", way="agent"))["probe_restarts_stopped"] == "refused"
    assert "probe_restarts_stopped" not in codes(plan(room, "node.attr.rack: r1\n"))


def test_a_pod_that_is_to_stay_stopped_is_refused_by_the_kubelet_and_goes_alone_by_the_agent(room: Room) -> None:
    annotate(room, "data-0", stop="true")
    assert codes(plan(room))["stop_needs_agent"] == "refused"
    result = plan(room, way="agent")
    assert order_of(result) == ["data-0"]
    assert "stopped for good: data-0" in result["batches"][0]["reason"]
    assert "data-0" not in result["members"]
    annotate(room, "data-0", stop="true", restart_phase="stop", restart_process="x")
    resting = plan(room, way="agent")
    assert codes(resting)["process_stays_stopped"] == "passed"
    assert "data-0" not in order_of(resting)


def test_nobody_expects_a_member_that_a_person_has_had_stopped(room: Room) -> None:
    room.pod("data-0", None, ready=False)
    room.copies = (copy("logs", "data-1", primary=True),)
    annotate(room, "data-0", stop="true", restart_phase="stop")
    result = plan(room, way="agent")
    assert ("data-0" in result["members"], result["broken"]) == (False, [])
    # Once the annotation is gone, it is expected, and goes first.
    annotate(room, "data-0", restart_phase="stop", restart_process="40@before")
    result = plan(room, way="agent")
    assert ("data-0" in result["members"], order_of(result)) == (True, ["data-0"])
