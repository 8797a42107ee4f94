"""The extension of Cluster API next to its real controllers, which all these scenarios share."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

import pytest
import yaml

from extensions.cluster_api.cluster_api_extension.holds import OURS, SKIP_REMEDIATION
from tests.lab.cluster_api.cluster_api import ClusterApiOnLab, condition
from tests.lab.cluster_api.definitions import Wanted
from tests.lab.fixtures import lab_directory
from tests.lab.lab import Lab
from tests.lab.waiting import until
from tests.scenarios.cluster_api.extension import REPOSITORY, Extension
from tests.scenarios.cluster_api.marking_run import MarkingRun
from tests.scenarios.cluster_api.story import (
    ASKED_AGAIN,
    BEGUN,
    DISCOVERED,
    FAILED,
    NOTE,
    UPGRADED,
    CommandRun,
    Place,
    Story,
    at_a_time,
    node_of,
    of_control_plane,
)

pytestmark = pytest.mark.soak
OLD, NEW = "v1.35.1", "v1.36.1"
HELD = 90.0
TOO_LATE = 10
AT_WORK, STOPPED = ("Unknown", "ExternalUpgradeInProgress"), ("False", "ExternalUpgradeFailed")
Json = dict[str, Any]
BUDGET = {"attempts": 3, "deadline": 600, "pause": 1, "poll": 1}
POLICY: Json = {"budget": BUDGET, "gate": {"hooks": ["BeforeControlPlaneUpgrade"], "clusters": ["shop/*"], "poll": 2}}
OPTIONS = "spec.joinConfiguration.nodeRegistration.kubeletExtraArgs"
COVERED: Json = {"budget": BUDGET, "fields": {"bootstrapConfig": [OPTIONS]}}
NOT_READY = [{"type": "Ready", "status": "False", "timeoutSeconds": 10}]


def documented() -> Json:
    """The checks that the manual gives for our condition, at their worst: without any time."""
    manual = (REPOSITORY / "docs" / "machines.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```yaml\n(checks:\n.*?)^```", manual, re.MULTILINE | re.DOTALL)
    (check,) = yaml.safe_load(block)["checks"]["unhealthyMachineConditions"]
    return {"unhealthyMachineConditions": [{**check, "timeoutSeconds": 0}]}


CLUSTERS = {
    each.namespace: each
    for each in (
        Wanted("shop", OLD, 3, 2),
        Wanted("differs", OLD, 1, 2),
        Wanted("killed", OLD, 1, 3),
        Wanted("sick", OLD, 1, 2, checks={"unhealthyNodeConditions": NOT_READY}),
        Wanted("gated", OLD, 1, 1),
        Wanted("marked", OLD, 1, 3, checks=documented(), in_flight=0),
    )
}


@pytest.fixture(scope="module")
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """One management cluster, where the clusters of the tests that run start side by side."""
    wanted = [
        each for name, each in CLUSTERS.items() if any(f"[{name}]" in item.name for item in request.session.items)
    ]
    folder = tmp_path_factory.mktemp("cluster-api")
    with Lab.up("cluster-api", lab_directory(), zones=("a",)) as lab, Extension(lab, folder) as extension:
        label = {"upgrade.stateful/in-place": "true"}
        for name in CLUSTERS:
            lab.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": label}}])
        with ClusterApiOnLab(lab, folder, extension.client) as cluster_api:
            extension.serve(POLICY)
            extension.register()
            for each in wanted:
                cluster_api.make(each)
            yield Place(cluster_api, extension, folder)


@pytest.fixture
def story(place: Place, request: pytest.FixtureRequest) -> Iterator[Story]:
    """The cluster of a test."""
    began = time.monotonic()
    made = Story(place, CLUSTERS[request.param])
    print(f"{request.param}: available after {time.monotonic() - began:.0f} s more")
    yield made
    made.end()


def cluster(name: str) -> pytest.MarkDecorator:
    """The cluster that a test has for itself."""
    return pytest.mark.parametrize("story", [name], indirect=True)


@cluster("shop")
def test_every_machine_keeps_its_uid(story: Story) -> None:
    story.serve(POLICY)
    story.work()
    before = story.uids()
    is_held_by_its_gate(story)
    fails_for_good(story)
    began = time.monotonic()
    story.settles(NEW)
    print(f"upgraded after {time.monotonic() - began:.0f} s; calls: {dict(story.api.calls())}")
    assert story.uids() == before
    assert at_a_time(story.journal()) == 1


def is_held_by_its_gate(story: Story) -> None:
    """The gate says no: nothing is started, and its sentence is in a condition of the Cluster."""
    story.gate("no", "The index orders is yellow.")
    story.upgrade(NEW)
    until("The sentence of the gate", lambda: story.says("The index orders is yellow."), HELD)
    assert story.versions() == {OLD}
    assert story.calls("UpdateMachine", "Success") == 0


def fails_for_good(story: Story) -> None:
    """The first machine refuses: Cluster API asks again and again, and no run is started a second time."""
    refuse = story.folder / "refuse"
    refuse.touch()
    story.gate("yes")
    until("A failure", lambda: story.calls("UpdateMachine", "Failure") >= ASKED_AGAIN, FAILED)
    (run,) = story.journal()
    (machine,) = (each for each in story.machines() if each["spec"].get("version") == NEW)
    assert (story.machine_of(run.node)["metadata"]["uid"], hold(machine)) == (machine["metadata"]["uid"], OURS)
    print("the Machine says:", [each["message"] for each in machine["status"]["conditions"] if each["message"]])
    refuse.unlink()
    story.clear(machine)


@cluster("differs")
def test_a_change_that_is_not_covered_is_held_or_replaced_as_the_policy_says(story: Story) -> None:
    story.serve({**POLICY, "uncovered": "hold"})
    before, workers = story.uids(), story.uids_of_workers()
    story.change_workers("1%")
    until("A refusal", lambda: story.calls("CanUpdateMachineSet", "Failure") >= ASKED_AGAIN, HELD)
    assert re.search(rf"CanUpdateMachineSet: Failure: .*{re.escape(OPTIONS)}.* nothing is replaced", story.said())
    assert story.uids() == before

    story.serve({**POLICY, "uncovered": "replace"})
    (deployment,) = story.names("machinedeployments")
    story.annotate("machinedeployments", deployment, NOTE, "again")
    said = until("The list of fields", lambda: declined_in(story.said()), HELD)
    print("the service says:", said[1])
    print("Cluster API says:", re.findall(r"cannot be updated in-place by extensions.*", story.api.said())[-1:])
    until("New machines", lambda: not workers.items() & story.uids().items(), UPGRADED)
    story.settles()
    made = [each for each in story.machines() if each["metadata"]["uid"] not in before.values()]
    assert {each["metadata"]["uid"] for each in made} == set(story.uids_of_workers().values())
    assert len(made) == len(workers)
    assert said[0] <= min(each["metadata"]["creationTimestamp"] for each in made), "it is said before"
    assert story.calls("UpdateMachine", "Success", "Failure") == 0


def declined_in(said: str) -> tuple[str, str] | None:
    """When the service has said that Cluster API replaces machines, and what; None if it has not."""
    found = re.search(
        rf"^(\S+ [\d:]+),\d+ INFO (CanUpdateMachineSet: Success: .*{re.escape(OPTIONS)}.* Cluster API replaces it .*)$",
        said,
        re.MULTILINE,
    )
    if found is None:
        return None
    local = datetime.strptime(found[1], "%Y-%m-%d %H:%M:%S").astimezone()
    return local.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"), found[2]


@cluster("killed")
def test_no_machine_is_worked_on_twice_whatever_is_killed_or_too_late(story: Story) -> None:
    story.serve({**COVERED, "budget": {**BUDGET, "deadline": TOO_LATE}})
    story.work()
    (story.folder / "wait").touch()
    before = story.uids()
    story.change_workers("1%")
    late = comes_too_late(story, story.midway(1))
    unheard = loses_its_service(story, story.midway(3))
    killed = loses_its_worker(story, story.midway(4))
    story.settles()
    runs = story.journal()
    assert Counter(each.node for each in runs) == {late: 2, unheard: 1, killed: 2}
    assert at_a_time(runs) == 1
    assert all(each.end for each in runs)
    assert story.uids() == before
    assert [hold(each) for each in story.machines()] == [None] * len(before)


def comes_too_late(story: Story, run: CommandRun) -> str:
    """Its command is asked to end at the deadline, and nothing is started until a person clears the failure."""
    machine = story.machine_of(run.node)
    until("A failure", lambda: story.calls("UpdateMachine", "Failure") >= ASKED_AGAIN, FAILED)
    until("The end of the command", lambda: story.journal()[0].end, BEGUN)
    task = story.task(machine)
    assert (task["state"], task["kind"]) == ("failed", "deadline")
    assert f"it was not done within {TOO_LATE} s" in story.said()
    assert len(story.journal()) == 1
    story.serve(COVERED)
    story.clear(machine)
    assert story.midway(2).node == run.node
    story.go(run.node)
    return run.node


def loses_its_service(story: Story, run: CommandRun) -> str:
    """It is done by the time at which the service is there again, which takes that from its task."""
    machine = story.machine_of(run.node)
    story.extension.end("service")
    before = story.calls("UpdateMachine", "Unknown")
    until("Calls without an answer", lambda: story.calls("UpdateMachine", "Unknown") >= before + ASKED_AGAIN, FAILED)
    story.go(run.node)
    until("The end of its task", lambda: story.task(machine)["state"] == "done", BEGUN)
    assert condition(story.machine_of(run.node), "Updating") == "True", "Cluster API does not know"
    story.serve(COVERED)
    story.ask_again(machine)
    return run.node


def loses_its_worker(story: Story, run: CommandRun) -> str:
    """Its command ends with it, and another worker goes on once the claim is over."""
    story.extension.end("worker")
    until("The end of the command", lambda: story.journal()[-1].end, BEGUN)
    story.work()
    assert story.midway(5).node == run.node
    assert story.task(story.machine_of(run.node))["attempts"] == 2
    story.go(run.node)
    return run.node


@cluster("sick")
def test_a_machine_is_remediated_after_a_fatal_failure_and_not_before(story: Story) -> None:
    story.serve(COVERED)
    story.work()
    for name in ("wait", "refuse"):
        (story.folder / name).touch()
    before = story.uids()
    story.change_workers("1%")
    run = story.midway(1)
    machine = story.machine_of(run.node)
    name = machine["metadata"]["name"]
    assert hold(machine) == OURS
    story.lose(run.node)
    until("The loss", lambda: condition(story.machine_of(run.node), "NodeReady") == "False", BEGUN)
    is_left_alone(story, name)
    story.go(run.node)
    until("The failure", lambda: story.task(machine)["state"] == "failed", FAILED)
    is_left_alone(story, name)
    assert story.uids() == before
    for each in ("wait", "refuse"):
        (story.folder / each).unlink()
    began = time.monotonic()
    story.annotate("machines", name, SKIP_REMEDIATION, None)
    until("The remediation", lambda: name not in story.uids(), FAILED)
    print(f"remediated {time.monotonic() - began:.1f} s after it was let go")
    story.settles()
    after = story.uids()
    assert len(after) == len(before)
    assert before.items() - after.items() == {(name, machine["metadata"]["uid"])}, "the other ones were updated"
    assert [hold(each) for each in story.machines()] == [None] * len(after)
    assert Counter(each.node for each in story.journal())[run.node] == 1


def is_left_alone(story: Story, name: str, looks: int = 1) -> None:
    """The controller of MachineHealthChecks looks at a held Machine once more, and leaves it.

    It judges the Machines that are not held after that, so that only a second look shows that it has left them alone.
    """
    for _look in range(looks):
        is_looked_at(story, name)
    assert name in story.uids()


def is_looked_at(story: Story, name: str) -> None:
    """The controller of MachineHealthChecks passes over a held Machine, once it is asked to look."""
    seen = len(story.api.said())
    for each in story.names("machinehealthchecks"):
        story.annotate("machinehealthchecks", each, NOTE, str(seen))
    skipped = re.compile(
        rf'"Skipping remediation" .*Machine="{story.namespace}/{name}" .*{re.escape(SKIP_REMEDIATION)}'
    )
    until("A look at it", lambda: skipped.search(story.api.said()[seen:]), DISCOVERED)


@cluster("marked")
def test_a_health_check_replaces_the_machine_that_a_run_has_failed_on_and_no_other(story: Story) -> None:
    before, run = story.uids(), MarkingRun(story, "20260101-000000-00000001")
    failed, kept, waiting = sorted(node_of(each) for each in story.machines() if not of_control_plane(each))
    name = story.machine_of(failed)["metadata"]["name"]
    run.waits_with(failed, kept, waiting)
    run.starts(failed, kept)
    is_left_alone(story, name, looks=2)
    assert to_be_replaced(story) == []
    assert up_to_date(story, failed, kept, waiting) == [AT_WORK, AT_WORK, ("Unknown", "Waiting")]
    run.drains(failed)
    assert run.fails("The kubelet did not come back.") == ["machine_stays_held"]
    is_left_alone(story, name, looks=2)
    assert up_to_date(story, failed, kept, waiting) == [STOPPED, ("Unknown", "ExternalUpgradeFailed"), None]
    assert hold(story.machine_of(kept)) is None
    assert (story.uids(), to_be_replaced(story)) == (before, [])
    is_let_go_and_kept_in_vain(story, failed, MarkingRun(story, "20260101-000000-00000002"))
    story.settles()
    after = story.uids()
    assert len(after) == len(before)
    assert before.items() - after.items() == {(name, before[name])}


def is_let_go_and_kept_in_vain(story: Story, node: str, run: MarkingRun) -> None:
    """Once the MachineHealthCheck has marked it, its owner replaces it whatever its annotations are, at any time."""
    name = story.machine_of(node)["metadata"]["name"]
    story.annotate("machines", name, SKIP_REMEDIATION, None)
    until("The mark of the MachineHealthCheck", lambda: to_be_replaced(story) == [name], FAILED)
    (reason,) = run.judges(node).reasons
    print("a run says:", reason.message, reason.remedy)
    assert reason.code == "machine_to_be_replaced"
    story.annotate("machines", name, SKIP_REMEDIATION, "ada")
    is_left_alone(story, name)
    assert to_be_replaced(story) == [name]
    story.replace_at_once(1)
    until("The remediation", lambda: name not in story.uids(), FAILED)


def to_be_replaced(story: Story) -> list[str]:
    """The Machines that a MachineHealthCheck has found unhealthy and given to their owner."""
    marked = {"HealthCheckSucceeded": "False", "OwnerRemediated": "False"}
    return [
        each["metadata"]["name"]
        for each in story.machines()
        if all(condition(each, name) == status for name, status in marked.items())
    ]


def up_to_date(story: Story, *nodes: str) -> list[tuple[str, str] | None]:
    """Status and reason of the condition of each Machine that runs write."""
    found = [story.machine_of(each)["status"]["conditions"] for each in nodes]
    written = [[each for each in conditions if each["type"] == "MachineUpToDate"] for conditions in found]
    return [(each[0]["status"], each[0]["reason"]) if each else None for each in written]


def hold(machine: Json) -> str | None:
    """The annotation of a Machine that no MachineHealthCheck replaces."""
    found: str | None = (machine["metadata"].get("annotations") or {}).get(SKIP_REMEDIATION)
    return found


@cluster("gated")
def test_gates_alone_hold_an_upgrade_by_replacement(story: Story) -> None:
    hooks = ["BeforeControlPlaneUpgrade", "BeforeWorkersUpgrade"]
    story.serve({"in_place": False, "gate": {"hooks": hooks, "clusters": ["gated/*"], "poll": 2}})
    before, workers = story.uids(), story.uids_of_workers()
    story.gate("no", "The index orders is yellow.")
    story.upgrade(NEW)
    until("The gate", lambda: story.says("BeforeControlPlaneUpgrade", "The index orders is yellow."), HELD)
    assert (story.uids(), story.versions()) == (before, {OLD})
    story.gate("yes")
    until("A new control plane", lambda: story.versions() == {OLD, NEW}, UPGRADED)
    story.gate("no", "Volume data-1 is rebuilt.")
    until("The gate", lambda: story.says("BeforeWorkersUpgrade", "Volume data-1 is rebuilt."), UPGRADED)
    (machine,) = (each for each in story.machines() if of_control_plane(each))
    assert (machine["spec"]["version"], story.uids_of_workers()) == (NEW, workers)
    story.gate("yes")
    story.settles(NEW)
    assert not before.items() & story.uids().items()
    assert {hook for hook, _status in story.api.calls() - Counter()} >= set(hooks)
    for hook in ("CanUpdateMachine", "CanUpdateMachineSet", "UpdateMachine"):
        assert story.calls(hook, "Success", "Failure", "Unknown") == 0
