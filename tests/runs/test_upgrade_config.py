"""Upgrades of OpenShift that an UpgradeConfig requests: read, scheduled, carried out, and answered in its status."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.runs.openshift import NAMESPACE, PLAYBOOK, SYSTEM, shipped_rights
from tests.runs.sampled import one_in
from tests.runs.test_openshift import CalledOpenShift, codes
from tests.runs.test_openshift_pauses import paused_in_its_batch
from tests.runs.turns import Killed
from tests.runs.upgrade_configs import SOURCE, UpgradeConfigs
from tests.runs.world import World
from tests.sandbox.kubernetes.objects import Json, Kind, Refused
from tests.sandbox.kubernetes.resources import Writing
from tests.sandbox.openshift.file_integrity import API_VERSION, RE_INIT, definition, file_integrity
from tests.sandbox.web import Request
from tests.scenarios.playbook import PLAN, Played
from tests.unit.plugins.module_utils.openshift.named import NAMES, NO_ALERTS, NO_SILENCES, NOT_SENT

OPTIONAL = ("UpgradeDelayedCheck", "IsUpgradeable", "PostUpgradeProcedures")
"""The steps that an ARO leaves out."""
SAID = {
    "SendStartedNotification": NOT_SENT,
    "UpgradeDelayedCheck": "it was not late",
    "IsUpgradeable": "the minor version stays",
    "PreUpgradeHealthCheck": NO_ALERTS,
    "ExternalDependencyAvailabilityCheck": "none was given (upgrade_dependencies)",
    "EnsureExtraUpgradeWorkers": "no capacity was to be added",
    "CreateControlPlaneMaintWindow": NO_SILENCES,
    "RemoveControlPlaneMaintWindow": NO_SILENCES,
    "CreateWorkerMaintWindow": NO_SILENCES,
    "AllWorkersUpgraded": "3 of 3 Kubernetes nodes",
    "RemoveExtraScaledNodes": "no capacity was added",
    "RemoveMaintWindow": NO_SILENCES,
    "PostUpgradeHealthCheck": f"well; {NO_ALERTS}",
    "PostUpgradeProcedures": "none was asked for (upgrade_tasks_after, upgrade_fedramp)",
    "SendCompletedNotification": NOT_SENT,
}
WHOLE = {name: f" is completed: {SAID[name]}" if name in SAID else " is completed" for name in NAMES}
"""The messages at the end, behind the names."""
STATUS = "stateful.upgrade.status"
STAGES = [
    ("SendStartedNotification", "False"),
    ("PreUpgradeHealthCheck", "False"),
    ("PreUpgradeHealthCheck", "True"),
    ("CommenceUpgrade", "False"),
    ("ControlPlaneUpgraded", "False"),
    ("ControlPlaneUpgraded", "True"),
    ("AllWorkersUpgraded", "False"),
    ("PostUpgradeHealthCheck", "False"),
    ("SendCompletedNotification", "True"),
]
"""The first condition at each change, with its status."""


class RequestedOpenShift(UpgradeConfigs, CalledOpenShift):
    """An OpenShift whose upgrades an UpgradeConfig requests."""

    def __init__(self, here: World, **more: Any) -> None:
        CalledOpenShift.__init__(self, here, **more)
        UpgradeConfigs.__init__(self, here, self.openshift)

    def variables(self, **more: Any) -> dict[str, Any]:
        """See `CalledOpenShift`. The version is in the request."""
        own = super().variables(upgrade_request=SOURCE, **more)
        return {name: value for name, value in own.items() if name != "target_version" or name in more}

    def play(self, **more: Any) -> Played:
        """A run with consent."""
        return self.here.play(PLAYBOOK, self.agreed(**more))


def told(entry: Json) -> list[tuple[str, str]]:
    """The conditions of an entry in the order of the steps, each with its message behind its name."""
    return [(each["type"], each["message"].removeprefix(each["type"])) for each in reversed(entry["conditions"])]


def test_an_upgrade_is_told_step_by_step_and_whole_at_its_end(here: World) -> None:
    cluster = RequestedOpenShift(here)
    cluster.request()
    given, stages = cluster.agreed(), list[tuple[str, str]]()

    def look(request: Request) -> None:
        if request.method == "PATCH" and request.path.endswith("/status") and "upgradeconfigs" in request.path:
            newest = cluster.history()[0]["conditions"][0]
            stages.append((newest["type"], newest["status"]))

    here.calling.after = look
    ended = here.play(PLAYBOOK, given)
    assert ended.code == 0, ended.output
    cluster.is_upgraded()
    assert "The PDBForceDrainTimeout of UpgradeConfig managed-upgrade-config" in ended.output
    assert list(dict.fromkeys(stages)) == STAGES
    (entry,) = cluster.history()
    times = ["startTime", "workerStartTime", "workerCompleteTime", "completeTime"]
    assert entry.keys() == {"version", "precedingVersion", "phase", "conditions", *times}
    assert (entry["version"], entry["precedingVersion"], entry["phase"]) == ("4.18.2", "4.18.1", "Upgraded")
    assert [entry[each] for each in times] == sorted(entry[each] for each in times)
    assert told(entry) == list(WHOLE.items())
    fields = {"type", "status", "reason", "message", "startTime", "completeTime", "lastProbeTime", "lastTransitionTime"}
    for each in entry["conditions"]:
        assert each.keys() == fields
        assert (each["status"], each["reason"]) == ("True", f"{each['type']} done")
        assert entry["startTime"] <= each["startTime"] <= each["completeTime"] <= entry["completeTime"]
    assert cluster.state() == "completed"
    before = cluster.requested()
    assert cluster.play().code == 0
    assert cluster.history() == before["status"]["history"]
    # The window closes over an upgrade that is done, and a timer starts passes still.
    cluster.openshift.clock.advance(3 * 3600)
    late = cluster.play(upgrade_wait=False)
    assert late.code == 0, late.output
    assert (cluster.history(), cluster.state()) == (before["status"]["history"], "completed")


def test_a_pool_that_a_person_pauses_in_its_batch_leaves_no_step_of_the_upgrade_unfinished(here: World) -> None:
    cluster = RequestedOpenShift(here)
    cluster.request()
    stopped = paused_in_its_batch(cluster, cluster.agreed(upgrade_member_timeout=600))
    assert "kubernetes_node_waits" in codes(stopped)
    ended = cluster.play()
    assert ended.code == 0, ended.output
    (entry,) = cluster.history()
    left = "0 of 3 Kubernetes nodes, the others are gone, or a person has paused their MachineConfigPool"
    assert told(entry) == list({**WHOLE, "AllWorkersUpgraded": f" is completed: {left}"}.items())
    assert (entry["phase"], entry["workerCompleteTime"]) == ("Upgraded", entry["completeTime"])


def test_an_upgrade_at_a_later_time_is_pending_until_it_begins(here: World) -> None:
    cluster = RequestedOpenShift(here)
    cluster.request(at=7200)
    early = cluster.play(upgrade_wait=False)
    assert early.code == 0, early.output
    (entry,) = cluster.history()
    assert entry.keys() == {"version", "precedingVersion", "phase", "conditions"}
    assert (entry["phase"], cluster.state()) == ("Pending", "waiting")
    assert told(entry) == [("PreUpgradeHealthCheck", " still in progress: the early look found nothing")]
    cluster.openshift.faults.operator_stays_degraded("etcd")
    cluster.openshift.clock.advance(60)
    cluster.play(upgrade_wait=False)
    (entry,) = cluster.history()
    assert "the early look has found: ClusterOperator etcd is degraded" in told(entry)[0][1]
    cluster.openshift.clock.advance(7200 + 1860)
    late = here.play(PLAYBOOK, cluster.variables(upgrade_wait=False))
    assert "start_delayed" in codes(late)
    (entry,) = cluster.history()
    assert entry["phase"] == "Pending"
    assert told(entry)[0][0] == "UpgradeDelayedCheck"
    cluster.openshift.clock.advance(7200)
    missed = here.play(PLAYBOOK, cluster.variables(upgrade_wait=False))
    assert missed.code != 0
    (entry,) = cluster.history()
    assert (entry["phase"], entry["conditions"][0]["type"]) == ("Failed", "FailedUpgrade")
    assert "no batch had begun then" in entry["conditions"][0]["message"]


def test_status_has_a_line_for_each_step(here: World) -> None:
    cluster = RequestedOpenShift(here)
    cluster.request(at=7200)
    cluster.openshift.faults.operator_stays_degraded("etcd")
    cluster.openshift.clock.advance(60)
    given = {name: cluster.variables()[name] for name in ("upgrade_namespace", "upgrade_kubernetes")}
    here.play(PLAYBOOK, cluster.variables(upgrade_wait=False))
    early = here.play(STATUS, given)
    assert early.code == 0, early.output
    assert "to be fixed before the start: ClusterOperator etcd is degraded" in early.output
    assert "step PreUpgradeHealthCheck: in progress" in early.output
    assert early.output.count("  step ") == 17
    assert len(re.findall(r"  step \w+: pending", early.output)) == 16


@pytest.mark.parametrize("number", one_in(3, range(4, 35, 5)))
def test_a_killed_run_and_the_next_one_are_one_upgrade(here: World, number: int) -> None:
    cluster = RequestedOpenShift(here)
    cluster.request()
    given = cluster.agreed()
    killed = here.killed_behind(number, given, PLAYBOOK)
    assert killed is None, killed.output
    # The lock of a killed run lapses.
    cluster.openshift.clock.advance(120)
    ended = here.play(PLAYBOOK, given)
    assert ended.code == 0, ended.output
    cluster.is_upgraded()
    (entry,) = cluster.history()
    assert (entry["precedingVersion"], entry["phase"]) == ("4.18.1", "Upgraded")
    assert [name for name, _said in told(entry)] == NAMES


def test_two_upgrades_are_two_entries_the_newest_first(here: World) -> None:
    cluster = RequestedOpenShift(here)
    cluster.request()
    assert cluster.play().code == 0
    first = cluster.history()
    cluster.request("4.18.3")
    ended = cluster.play()
    assert ended.code == 0, ended.output
    newest, *earlier = cluster.history()
    assert earlier == first
    assert (newest["version"], newest["precedingVersion"], newest["phase"]) == ("4.18.3", "4.18.2", "Upgraded")
    assert newest["startTime"] >= first[0]["completeTime"]


def test_all_faults_of_a_request_are_told_at_once(here: World) -> None:
    cluster = RequestedOpenShift(here)
    cluster.request(upgradeAt="tomorrow", desired={})
    refused = here.play(PLAYBOOK, cluster.variables())
    assert refused.code != 0
    assert codes(refused) == ["request_invalid"]
    for said in (
        "spec.desired names no version",
        "spec.upgradeAt is 'tomorrow'",
    ):
        assert said in refused.output, said
    (entry,) = cluster.history()
    (unfit,) = entry.pop("conditions")
    assert (entry, cluster.state()) == ({"phase": "New"}, "invalid")
    assert (unfit["type"], unfit["status"], unfit["reason"]) == ("Validation", "False", "Validation failed")
    assert "spec.desired names no version" in unfit["message"]
    cluster.request("4.18.9")
    refused = here.play(PLAYBOOK, cluster.variables())
    assert codes(refused) == ["update_not_offered"]
    (entry,) = cluster.history()
    (unfit,) = entry.pop("conditions")
    assert entry == {"version": "4.18.9", "phase": "New"}
    assert "does not offer 4.18.9" in unfit["message"]
    assert cluster.state() == "refused"


def test_a_field_that_an_upgrade_config_does_not_have_is_not_taken(here: World) -> None:
    with pytest.raises(Refused, match="upgradAt"):
        RequestedOpenShift(here).request(upgradAt="2026-11-21T02:00:00Z")


def test_the_status_is_left_to_the_operator_where_that_is_active(here: World) -> None:
    cluster = RequestedOpenShift(here)
    cluster.request(at=7200)
    name, namespace = "managed-upgrade-operator", "openshift-managed-upgrade-operator"
    labels = {"name": name}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": name, "image": "operator"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": pod}
    metadata = {"name": name, "namespace": namespace}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"replicas": 1, **spec}}
    here.sandbox.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}, deployment])
    early = here.play(PLAYBOOK, cluster.variables(upgrade_wait=False))
    assert "other_upgrader" in codes(early) or "To be fixed before the start: The managed-upgrade" in early.output
    cluster.openshift.clock.advance(7200)
    refused = here.play(PLAYBOOK, cluster.variables(upgrade_wait=False))
    assert "other_upgrader" in codes(refused)
    assert (cluster.history(), cluster.state()) == ([], "refused")


def test_a_status_that_cannot_be_written_stops_no_upgrade(with_executor: World) -> None:
    here, cluster = with_executor, RequestedOpenShift(with_executor)
    cluster.request()
    given = cluster.agreed()
    (role,) = [each for each in shipped_rights() if each["kind"] == "Role"]
    rules = [each for each in role["rules"] if each["resources"] != ["upgradeconfigs/status"]]
    here.sandbox.apply([{**role, "rules": rules}])
    ended = here.play(PLAYBOOK, given)
    assert ended.code == 0, ended.output
    cluster.is_upgraded()
    assert f"The status of {SOURCE} was not written. " in ended.output
    assert (cluster.history(), cluster.state()) == ([], "completed")


ARO_STEPS = [name for name in NAMES if name not in OPTIONAL]


def test_aro_leaves_out_its_steps_and_starts_after_its_window_too(here: World) -> None:
    cluster = RequestedOpenShift(here)
    cluster.request(at=-4 * 3600.0, type="ARO")
    given = cluster.agreed()
    ended = here.play(PLAYBOOK, given)
    assert ended.code == 0, ended.output
    cluster.is_upgraded()
    assert "leaves out IsUpgradeable, PostUpgradeProcedures, UpgradeDelayedCheck" in ended.output
    (entry,) = cluster.history()
    assert [name for name, _said in told(entry)] == ARO_STEPS


class WithFileIntegrity(RequestedOpenShift):
    """The same with the definition of the File Integrity Operator, and one object of another user."""

    def __init__(self, here: World) -> None:
        super().__init__(here)
        here.sandbox.apply([definition(), file_integrity("worker", NAMESPACE, {"team": "security"})])

    def annotations(self) -> dict[str, str]:
        """The annotations of the object."""
        found: dict[str, str] = self._object()["metadata"]["annotations"]
        return found

    def take(self) -> None:
        """Make the baseline again, as the operator does, which takes its annotation away."""

        def without(item: Json) -> None:
            del item["metadata"]["annotations"][RE_INIT]

        self.change(without, Writing("file-integrity-operator"))

    def change(self, how: Callable[[Json], object], writing: Writing) -> None:
        """Change the object."""
        self.openshift.resources.change(self._kind(), NAMESPACE, "worker", how, writing)

    def _object(self) -> Json:
        return self.openshift.resources.get(self._kind(), NAMESPACE, "worker")

    def _kind(self) -> Kind:
        found = self.openshift.resources.kinds.named(API_VERSION, "FileIntegrity")
        assert found is not None
        return found


def test_the_baseline_of_file_integrity_is_made_again_once_for_an_upgrade(here: World) -> None:
    cluster = WithFileIntegrity(here)
    cluster.request()
    given = cluster.agreed(upgrade_fedramp=True)

    def stop(request: Request) -> None:
        if request.method == "PATCH" and "fileintegrities" in request.path:
            raise Killed

    here.calling.after = stop
    with pytest.raises(Killed):
        here.play(PLAYBOOK, given)
    here.calling.after = lambda _request: None
    asked = {"team": "security", "upgrade.stateful/file-integrity-of": "4.18.2"}
    assert cluster.annotations() == {**asked, RE_INIT: ""}
    assert cluster.history()[0]["conditions"][0]["type"] == "PostUpgradeProcedures"
    cluster.take()
    cluster.openshift.clock.advance(1000)
    ended = here.play(PLAYBOOK, given)
    assert ended.code == 0, ended.output
    cluster.is_upgraded()
    assert cluster.annotations() == asked
    assert dict(told(cluster.history()[0]))["PostUpgradeProcedures"] == " is completed"
    assert here.play(PLAYBOOK, given).code == 0
    assert cluster.annotations() == asked
    cluster.request("4.18.3")
    assert cluster.play(upgrade_fedramp=True).code == 0
    assert cluster.annotations() == {**asked, "upgrade.stateful/file-integrity-of": "4.18.3", RE_INIT: ""}


def test_a_field_that_a_file_integrity_does_not_have_is_not_taken(here: World) -> None:
    cluster, strict = WithFileIntegrity(here), Writing("kubectl", strict="Strict")
    with pytest.raises(Refused, match="gracePeriods"):
        cluster.change(lambda item: item["spec"]["config"].update(gracePeriods=60), strict)
    with pytest.raises(Refused, match="config: Required value"):
        cluster.change(lambda item: item.update(spec={}), strict)


def test_a_baseline_that_nobody_can_make_is_refused_before_anything_happens(here: World) -> None:
    cluster = RequestedOpenShift(here)
    cluster.request()
    refused = here.play(PLAN, {**cluster.variables(upgrade_fedramp=True), **SYSTEM})
    assert codes(refused) == ["file_integrity_missing"]
    left = here.play(
        PLAN, {**cluster.variables(upgrade_fedramp=True, upgrade_left_out=["PostUpgradeProcedures"]), **SYSTEM}
    )
    assert left.code == 0, left.output
