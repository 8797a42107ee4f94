"""The fleet of a run, from the variables of one of its clusters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet import cluster_upgrade, fleet_plan
from ansible_collections.stateful.upgrade.plugins.plugin_utils.batch_of_run import SOAK_MARGIN
from ansible_collections.stateful.upgrade.plugins.plugin_utils.fleet_of_run import GROUP, FleetOfRun
from ansible_collections.stateful.upgrade.plugins.plugin_utils.variables import table

Json = dict[str, Any]
PLANNED: Json = {
    "digest": "f1",
    "waves": [{"name": "canary", "clusters": ["north"]}, {"name": "1", "clusters": ["south", "west"]}],
}
GIVEN: Json = {
    "variables": {"target_version": "3.8.0", "upgrade_alerts": ["Disk"]},
    "secrets": {"upgrade_password": "s"},
}
DONE = {"cluster": {"state": "done", "digest": "p1", "began": "10:00", "ended": "11:00"}}


def fleet(**more: Any) -> FleetOfRun:
    """The fleet, as its cluster north sees it."""
    variables = {
        "inventory_hostname": "north",
        "ansible_play_hosts_all": ["north", "south", "west"],
        "groups": {"all": ["north", "south", "west"]},
        "fleet_given": GIVEN,
        "fleet_planned": PLANNED,
        **more,
    }
    return FleetOfRun(variables.get, variables)


def test_the_order_and_the_sizes_are_those_of_the_waves() -> None:
    assert fleet().order() == ["north", "south", "west"]
    # A play has the variables of no host at first.
    none: Json = {}
    there = FleetOfRun(none.get, {"groups": {GROUP: ["north"]}, "hostvars": {"north": {"fleet_planned": PLANNED}}})
    assert there.sizes() == [1, 2]
    assert FleetOfRun(none.get, {"groups": {}, "hostvars": {}}).sizes() == [1]


def test_a_plan_of_the_fleet_gets_the_waves_and_the_whole_inventory() -> None:
    given = fleet(upgrade_fleet_canary="north, south", upgrade_fleet_failures=0).options("fleet_plan", {})
    assert (given["canary"], given["failures"], given["waves"]) == (["north", "south"], 0, None)
    assert given["clusters"] == ["north", "south", "west"]
    assert "confirmed" not in given
    assert fleet().options("fleet_plan", {"state": "agreed"})["confirmed"] == "f1"


@pytest.mark.parametrize("option", ["canary", "waves", "failures", "playbook", "inventory"])
def test_an_option_is_of_the_type_of_its_variable(option: str) -> None:
    specs = [each.CONTRACT.argument_spec.get(option) for each in (fleet_plan, cluster_upgrade)]
    variable = table()[f"upgrade_fleet_{option}"].option
    for spec in filter(None, specs):
        assert {name: variable.get(name) for name in spec} == spec


def test_a_record_is_kept_at_one_place_wherever_a_task_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = fleet(upgrade_fleet_path="record").options("cluster_upgrade", {"state": "begun"})["path"]
    assert path == str(tmp_path.resolve() / "record")


@pytest.mark.parametrize(("state", "handed"), [("planned", True), ("upgraded", True), ("begun", False)])
def test_only_a_process_of_the_cluster_gets_its_variables(state: str, handed: bool) -> None:
    assert ("secrets" in fleet().options("cluster_upgrade", {"state": state})) is handed


def test_a_launcher_gets_the_consent_and_the_secrets_apart() -> None:
    launched = fleet(fleet_upgraded=DONE, upgrade_fleet_playbook="restart").launched()
    assert launched["playbook"] == "stateful.upgrade.restart"
    assert launched["variables"] == {**GIVEN["variables"], "upgrade_confirm": "p1"}
    assert launched["secrets"] == GIVEN["secrets"]


@pytest.mark.parametrize(
    ("message", "cause"), [("Job 7 failed.", "Job 7 failed."), ("failed", "The task Start the job has failed.")]
)
def test_the_failure_of_a_launcher_is_that_of_the_cluster(message: str, cause: str) -> None:
    failure = {"task": "Start the job", "message": message, "codes": ["job_failed"]}
    end = fleet(fleet_failure=failure).options("cluster_upgrade", {"state": "ended"})
    assert (end["cause"], end["codes"]) == (cause, ["job_failed"])
    assert "cause" not in fleet().options("cluster_upgrade", {"state": "ended"})


@pytest.mark.parametrize(
    ("more", "soaks"),
    [
        ({"upgrade_fleet_soak_time": "60"}, True),
        ({}, False),
        ({"upgrade_fleet_soak_time": 60, "inventory_hostname": "south"}, False),
        ({"upgrade_fleet_soak_time": 60, "fleet_upgraded": {"cluster": {"state": "failed"}}}, False),
        ({"upgrade_fleet_soak_time": 60, "fleet_ended": {"cluster": {"state": "failed"}}}, False),
        ({"upgrade_fleet_soak_time": 60, "fleet_ended": {"skipped": True}}, True),
    ],
)
def test_only_a_canary_that_is_upgraded_proves_itself(more: Json, soaks: bool) -> None:
    there = fleet(**{"fleet_upgraded": DONE, **more})
    assert there.soaks() is soaks
    is_to = there.options("cluster_upgrade", {"state": "begun"})["soaks"]
    assert is_to is (soaks or "state" in str(more)), "whether it will have to is known before it is upgraded"


@pytest.mark.parametrize(
    ("of_fleet", "of_cluster", "handed"), [("60", 0, False), ("60", "30", True), (0, 0, True), (0, 30, True)]
)
def test_probes_of_a_canary_are_of_its_upgrade_only_if_its_first_batch_proves_itself(
    of_fleet: Any, of_cluster: Any, handed: bool
) -> None:
    own = {"upgrade_soak_probes": ["https://shop"], "upgrade_soak_time": of_cluster}
    given = {"variables": {**GIVEN["variables"], **own}, "secrets": {}}
    there = fleet(fleet_given=given, fleet_upgraded=DONE, upgrade_fleet_soak_time=of_fleet)
    upgraded = there.options("cluster_upgrade", {"state": "upgraded"})["variables"]
    assert ("upgrade_soak_probes" in upgraded) is handed
    assert upgraded.keys() >= GIVEN["variables"].keys()


def test_a_canary_proves_itself_for_the_time_of_the_fleet() -> None:
    options = fleet(fleet_upgraded=DONE, upgrade_fleet_soak_time="60").options("canary_soak", {})
    assert (options["members"], options["soak_time"]) == (["north"], 60)
    assert not {"probes", "limits"} & options.keys(), "they are those of the cluster"
    assert options["wait_timeout"] == 60 + SOAK_MARGIN
    assert options["began"] == "10:00"
    again = {"cluster": {**DONE["cluster"], "since": "08:00"}}
    assert fleet(fleet_upgraded=again, upgrade_fleet_soak_time="60").options("canary_soak", {})["began"] == "08:00"
    assert fleet(fleet_given=None).options("canary_soak", {}) == {}


def test_nobody_goes_on_without_consent_to_these_very_plans() -> None:
    assert fleet(upgrade_fleet_confirm="f1").unconsented("") == ""
    assert fleet().unconsented(" Yes ") == ""
    assert fleet().unconsented("").startswith("The plan f1 was not confirmed, so nothing was done.")
    other = fleet(upgrade_fleet_confirm="f0").unconsented("yes")
    assert other.startswith("upgrade_fleet_confirm names the plan f0, and the plan is f1, so nothing was done.")


@pytest.mark.parametrize(
    ("failed", "reasons", "state"),
    [({"north": "It failed."}, ["South waits."], "refused"), ({}, ["South waits."], "waiting"), ({}, [], "done")],
)
def test_the_statistics_tell_the_worst(failed: Json, reasons: list[str], state: str) -> None:
    end = {
        "failed_clusters": failed,
        "verdict": {"reasons": [{"message": each} for each in reasons]},
        "clusters": {"north": {"codes": ["a", "b"]}, "south": {"codes": ["b"]}},
    }
    assert fleet(fleet_end=end).statistics() == {
        "upgrade_state": state,
        "upgrade_waiting_for": reasons,
        "upgrade_reasons": ["a", "b"],
    }


def test_a_launcher_gets_values_that_are_no_templates_for_ansible_as_well() -> None:
    """Another ansible-playbook would fill in what is between the brackets; a notice is filled in there on purpose."""
    body = {"text": "is {{ upgrade_notice.state }}"}
    given: Json = {
        "variables": {"upgrade_soak_limits": [{"query": "rate({{ x }})"}], "upgrade_webhook_body": body},
        "secrets": {"upgrade_opensearch_password": "a{%b"},
    }
    launched = fleet(fleet_given=given, fleet_upgraded=DONE).launched()
    assert launched["variables"]["upgrade_soak_limits"] == [{"query": "rate({{ x }})"}]
    assert launched["extra_vars"] == {
        "upgrade_soak_limits": [{"query": {"__ansible_unsafe": "rate({{ x }})"}}],
        "upgrade_webhook_body": body,
        "upgrade_confirm": "p1",
    }
    assert launched["secret_extra_vars"] == {"upgrade_opensearch_password": {"__ansible_unsafe": "a{%b"}}
