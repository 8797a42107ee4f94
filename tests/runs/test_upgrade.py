"""An upgrade of three members as one call, and killed after an act and run again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.run import runs
from kubernetes import client, config

from tests.runs.sampled import one_in
from tests.runs.turns import Killed
from tests.runs.world import CalledCluster, World, world
from tests.sandbox.kubernetes.kinds import PODS
from tests.sandbox.web import Request
from tests.scenarios.cluster import Fingerprint
from tests.scenarios.playbook import PLAN, PLAYBOOK

FROM, TO = "2.19.6", "3.8.0"
REPORT, STATUS = "stateful.upgrade.report", "stateful.upgrade.status"
KILLS = (1, 5, 9, 13, 18, 23, 29, 36, 44, 53, 62)
"""The acts of a run after which it is killed; `make soak` does it after each."""


@pytest.fixture(scope="module")
def here() -> Iterator[World]:
    """One world for all tests of this module, each with a cluster of its own."""
    with world() as made:
        yield made


def is_done(cluster: CalledCluster, before: Fingerprint) -> None:
    """Fails unless each member was replaced, once, and everything else is as it was."""
    cluster.is_upgraded(TO)
    after = cluster.fingerprint()
    assert after.settings == before.settings
    assert not set(after.pods.values()) & set(before.pods.values())
    assert not cluster.excluded()


def deletions(here: World, cluster: CalledCluster) -> list[str]:
    """The members whose pods were deleted by a controller."""
    pods = f"/api/v1/namespaces/{cluster.namespace}/pods/{cluster.name}-members-"
    paths = [path for method, path in here.acts() if method == "DELETE" and path.startswith(pods)]
    return sorted(path.rpartition("/")[2] for path in paths if "image-pull" not in path)


def test_an_upgrade_in_one_process(with_executor: World) -> None:
    cluster = with_executor.cluster(FROM)
    before = cluster.fingerprint()
    given = with_executor.confirmed(cluster.variables(TO))
    done = with_executor.play(PLAYBOOK, given)
    assert done.code == 0, done.output
    is_done(cluster, before)
    again = with_executor.play(PLAYBOOK, given)
    assert again.code == 0, again.output
    assert "Nothing to do" in again.output
    assert "[WARNING]" not in done.output + again.output
    assert deletions(with_executor, cluster) == sorted(before.pods)


def test_a_check_shows_the_settings_of_the_run_once(here: World) -> None:
    cluster = here.cluster(FROM)
    checked = here.play(PLAYBOOK, cluster.variables(TO), "--check", "--diff")
    assert checked.code == 0, checked.output
    assert checked.output.count('"persistent cluster.routing.rebalance.enable"') == 1
    assert checked.output.count('"persistent cluster.routing.allocation.enable"') == len(cluster.fingerprint().pods)


def test_a_plan_says_if_its_record_has_no_room_for_its_batches(here: World, monkeypatch: pytest.MonkeyPatch) -> None:
    given = here.cluster(FROM).variables(TO, upgrade_approvals=[{"name": "last", "after": 2}])
    assert here.play(PLAN, given).code == 0
    monkeypatch.setattr(runs, "SURE", 1)
    monkeypatch.setattr(runs, "MOST", 850)
    refused = here.play(PLAN, given)
    assert refused.code != 0
    assert "The upgrade would not stop for the approval last (after 2 batches)" in refused.message


def test_a_batch_has_few_tasks_and_none_that_only_skips(with_executor: World) -> None:
    done = with_executor.play(PLAYBOOK, with_executor.confirmed(with_executor.cluster(FROM).variables(TO)))
    counted = re.findall(r"^(\S+) +: ok=(\d+) .* skipped=(\d+) ", done.output, flags=re.MULTILINE)
    batches = {host: (int(ok), int(skipped)) for host, ok, skipped in counted if host.startswith("batch-")}
    assert len(batches) == 3, done.output
    assert all(ok <= 10 and skipped == 0 for ok, skipped in batches.values()), batches


def killed_behind(here: World, number: int) -> bool:
    """Whether a run had so many acts; it was killed after that one, and the next run has completed the upgrade."""
    cluster = here.cluster(FROM)
    before = cluster.fingerprint()
    given = here.confirmed(cluster.variables(TO))
    if here.killed_behind(number, given) is not None:
        return False
    last = here.acts()[-1]
    done = here.play(PLAYBOOK, given)
    assert done.code == 0, f"killed behind {last}\n{done.output}"
    is_done(cluster, before)
    assert deletions(here, cluster) == sorted(before.pods), last
    return True


@pytest.mark.parametrize("number", one_in(2, KILLS))
def test_killed_behind_an_act_and_run_again(here: World, number: int) -> None:
    assert killed_behind(here, number)


@pytest.mark.parametrize("playbook", ["stateful.upgrade.settle", "stateful.upgrade.abort"])
def test_pods_with_which_a_killed_run_has_pulled_images_are_removed_without_another_run(
    here: World, playbook: str
) -> None:
    cluster = here.cluster(FROM)
    given, before = here.confirmed(cluster.variables(TO)), here.calling.after

    def kill(request: Request) -> None:
        before(request)
        if request.method == "POST" and request.path.endswith("/pods") and "dryRun" not in request.query:
            raise Killed

    def left() -> list[str]:
        found = here.sandbox.api.store.list(PODS, cluster.namespace)
        return sorted(str(each["metadata"]["name"]) for each in found if "image-pull" in each["metadata"]["name"])

    here.calling.after = kill
    with pytest.raises(Killed):
        here.play(PLAYBOOK, given)
    here.calling.after = before
    (pod,) = left()
    other = dict(here.sandbox.api.store.get(PODS, cluster.namespace, pod) or {})
    labels = {"app": "x", "upgrade.stateful/image-pull": "uid-of-a-pool-of-another-cluster"}
    other["metadata"] = {"name": "other-image-pull-x", "namespace": cluster.namespace, "labels": labels}
    here.sandbox.apply([other])
    checked = here.play(playbook, cluster.variables(TO), "--check")
    assert (checked.code, len(left())) == (0, 2), checked.output
    done = here.play(playbook, cluster.variables(TO))
    assert done.code == 0, done.output
    here.later(30)
    assert left() == ["other-image-pull-x"]


def are_events(record: dict[str, Any], batch: str, member: str) -> None:
    """Fails unless the start, the health and the end of a batch that was taken twice are events."""
    noted = [each for each in record["all_events"] if each["about"] == batch]
    assert [(each["kind"], each["message"]) for each in noted] == [
        ("batch_started", ""),
        ("batch_ended", "interrupted"),
        ("batch_started", ""),
        ("health_seen", "green"),
        ("health_seen", "yellow"),
        ("batch_ended", "done"),
        ("whole_again", ""),
    ]
    (went,) = (each["at"] for each in record["events"] if each["kind"] == "went" and each["about"] == member)
    assert [each["at"] for each in noted if each["kind"] == "health_seen"] == [went] * 2


def test_the_report_has_each_try_the_health_and_the_conditions(here: World, tmp_path: Path) -> None:
    cluster = here.cluster(FROM)
    cluster.ask("/orders", "PUT", {"settings": {"number_of_shards": 2, "number_of_replicas": 1}})
    cluster.until_green()
    given = here.confirmed(cluster.variables(TO))
    went = len(deletions(here, cluster))

    def second_batch_is_proven(request: Request) -> None:
        """Before it goes down, its pod is offered to the API server."""
        if (request.method, len(deletions(here, cluster))) == ("POST", went + 1) and request.path.endswith("/pods"):
            raise Killed

    here.calling.after = second_batch_is_proven
    with pytest.raises(Killed):
        here.play(PLAYBOOK, given)
    here.later(2.0)  # events are kept in their order by the second
    here.calling.after = lambda _request: None
    assert here.play(PLAYBOOK, given).code == 0
    file = tmp_path / "report.json"
    known = {name: given[name] for name in ("upgrade_namespace", "upgrade_kubernetes")}
    told = here.play(REPORT, {**known, "upgrade_report_path": str(file)})
    assert told.code == 0, told.output
    found = json.loads(file.read_text(encoding="utf-8"))
    bars = found["report"]["bars"]
    assert [(bar["row"], bar["state"], bar["number"], bar["tries"]) for bar in bars] == [
        (0, "done", 1, 1),
        (1, "interrupted", 1, 2),
        (1, "done", 2, 2),
        (2, "done", 1, 1),
    ]
    assert [(bar["health"], bar["health_away"]) for bar in bars if bar["away"]] == [("green", "yellow")] * 3
    assert {each["status"] for each in found["record"]["conditions"]} == {"True"}
    assert found["record"]["conditions"][-1]["type"] == "Ended"
    assert found["record"]["upgrades"][-1]["conditions"] == found["record"]["conditions"]
    moves = [(each["about"], each["kind"]) for each in found["record"]["events"] if each["kind"] in ("went", "came")]
    gone = [name for bar in bars if bar["away"] for name in bar["members"]]
    assert moves == [(name, kind) for name in gone for kind in ("went", "came")]
    are_events(found["record"], bars[1]["name"], gone[1])


def test_the_report_and_status_have_accepted_risks_and_skipped_checks_with_who_said_so(
    here: World, tmp_path: Path
) -> None:
    cluster = here.cluster(FROM)
    wanted = {"upgrade_skip_checks": ["disk"], "upgrade_allow_single_copy": ["logs-*"]}
    given = here.confirmed({**cluster.variables(TO), **wanted})
    assert here.play(PLAYBOOK, given).code == 0
    known = {name: given[name] for name in ("upgrade_namespace", "upgrade_kubernetes")}
    file = tmp_path / "report.json"
    assert here.play(REPORT, {**known, "upgrade_report_path": str(file)}).code == 0
    found = json.loads(file.read_text(encoding="utf-8"))
    record = found["record"]
    risks = [(each["said"], each["by"], each["run"]) for each in found["report"]["risks"]]
    assert risks == [
        ("risk accepted with allow_single_copy: logs-*", record["who"], record["run"]),
        ("check disk skipped", record["who"], record["run"]),
    ]
    assert all(record["started"] <= each["at"] <= record["updated"] for each in found["report"]["risks"])
    page = tmp_path / "report.md"
    assert here.play(REPORT, {**known, "upgrade_report_path": str(page)}).code == 0
    assert f"check disk skipped, by {record['who']} in run {record['run']}" in page.read_text(encoding="utf-8")
    said = f"risk accepted with upgrade_allow_single_copy: logs-*, by {record['who']}"
    assert said in here.play(STATUS, known).output


def test_a_lock_that_is_taken_over_by_name_is_an_accepted_risk(here: World, tmp_path: Path) -> None:
    given = here.confirmed(here.cluster(FROM).variables(TO))
    assert here.killed_behind(KILLS[5], given) is None
    known = {name: given[name] for name in ("upgrade_namespace", "upgrade_kubernetes")}
    file = tmp_path / "report.json"
    assert here.play(REPORT, {**known, "upgrade_report_path": str(file)}).code == 0
    dead = json.loads(file.read_text(encoding="utf-8"))["record"]["run"]
    done = here.play(PLAYBOOK, {**given, "upgrade_take_over": dead, "upgrade_supersede": True})
    assert done.code == 0, done.output
    assert here.play(REPORT, {**known, "upgrade_report_path": str(file)}).code == 0
    found = json.loads(file.read_text(encoding="utf-8"))
    run, who = found["record"]["run"], found["record"]["who"]
    assert sorted((each["said"], each["by"], each["run"]) for each in found["report"]["risks"]) == [
        ("risk accepted with supersede (upgrade_supersede)", who, run),
        (f"risk accepted with take_over: {dead}", who, run),
    ]
    assert f"risk accepted with upgrade_take_over: {dead}, by {who}" in here.play(STATUS, known).output


def test_a_record_that_is_removed_in_mid_run_is_started_again(here: World, tmp_path: Path) -> None:
    cluster = here.cluster(FROM)
    given = here.confirmed(cluster.variables(TO))
    went, removed = len(deletions(here, cluster)), list[str]()

    def remove_once(request: Request) -> None:
        """The record goes while the second member is away."""
        if removed or len(deletions(here, cluster)) < went + 2:
            return
        removed.append(request.path)
        with config.new_client_from_config(str(here.sandbox.kubeconfig())) as api:
            client.CoreV1Api(api).delete_collection_namespaced_config_map(cluster.namespace)

    here.calling.after = remove_once
    done = here.play(PLAYBOOK, given)
    here.calling.after = lambda _request: None
    assert done.code == 0, done.output
    assert removed
    assert "The record of the upgrade was removed while the run was at work" in done.output
    file = tmp_path / "report.json"
    known = {name: given[name] for name in ("upgrade_namespace", "upgrade_kubernetes")}
    assert here.play(REPORT, {**known, "upgrade_report_path": str(file)}).code == 0
    found = json.loads(file.read_text(encoding="utf-8"))
    assert found["record"]["phase"] == "Completed"
    assert [bar["state"] for bar in found["report"]["bars"]] == ["done"] * 3
    assert found["record"]["system"] == "opensearch"


@pytest.mark.soak
def test_killed_behind_each_act(here: World) -> None:
    number = 1
    while killed_behind(here, number):
        number += 1
    assert number > max(KILLS)
