"""The folder that keeps the record of a fleet, and the module that plans it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, attempt
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet import cluster_upgrade, fleet_plan
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.fleet_record import Cluster, FleetPlan
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.folder import Folder
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.process import Played
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.waves import Wave

ONE = Cluster("eu/one", "done", wave="wave 1", codes=("a",), seconds=1.5)


def task(contract: Any, folder: Path, *, check_mode: bool = False, **options: Any) -> Task:
    return Task(contract.arguments({"path": str(folder), **options}), check_mode=check_mode)


def test_a_fleet_is_read_as_it_was_written(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "fleet")
    assert folder.read() == FleetPlan((), 0)
    folder.write(FleetPlan((Wave("wave 1", ("eu/one", "two")),), 2, "f1"))
    folder.put(ONE)
    folder.put(Cluster("three", "failed"))
    found = folder.read()
    assert (found.failures, found.digest, found.wave_of("two")) == (2, "f1", "wave 1")
    assert found.clusters == {"eu/one": ONE}, "a cluster of another run is none of this one"


def test_clusters_with_similar_names_have_files_of_their_own(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    names = ["eu/one", "eu one", "eu_one"]
    for name in names:
        folder.put(Cluster(name, "done"))
    assert [*folder.clusters(names)] == names
    assert len({folder.log_of(name) for name in names}) == len(names)


def test_a_folder_that_cannot_be_used_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Refusal, match="cannot be written"):
        Folder(tmp_path / "file").put(ONE)
    (tmp_path / "fleet.json").write_text("{")
    with pytest.raises(Refusal, match="cannot be read"):
        Folder(tmp_path).read()


@pytest.mark.parametrize(
    ("place", "text", "fault"),
    [
        ("fleet.json", "[]", "it is not a JSON object"),
        ("fleet.json", '{"waves": [{"clusters": ["one"]}]}', "waves.0.name is missing"),
        ("fleet.json", '{"waves": {"name": "one"}}', "waves is an object, and has to be a list"),
        ("fleet.json", '{"failures": "two"}', 'failures is "two", and has to be a whole number'),
        ("clusters/one.json", '{"name": "one"}', "state is missing"),
        (
            "clusters/one.json",
            '{"name": "one", "state": "done", "codes": "red"}',
            'codes is "red", and has to be a list',
        ),
        (
            "clusters/one.json",
            '{"name": "one", "state": "done", "launch": {"digest": "p1"}}',
            "launch.after is missing",
        ),
    ],
)
def test_a_file_that_was_edited_by_hand_is_refused_in_a_sentence(
    tmp_path: Path, place: str, text: str, fault: str
) -> None:
    folder = Folder(tmp_path)
    folder.write(FleetPlan((Wave("wave 1", ("one",)),), 1, "f1"))
    folder.put(Cluster("one", "done"))
    (tmp_path / place).write_text(text)
    ended = attempt(fleet_plan.run, task(fleet_plan.CONTRACT, tmp_path, clusters=["one"], state="ended"))
    (reason,) = ended.verdict.deciding()
    assert (reason.code, fault in reason.message) == ("fleet_record_unreadable", True), reason.message
    assert str(tmp_path / place) in reason.message


def test_a_person_may_write_seconds_without_a_fraction(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.put(Cluster("one", "done", seconds=12.5))
    place = tmp_path / "clusters/one.json"
    place.write_text(place.read_text().replace("12.5", "12"))
    assert folder.clusters(["one"])["one"].seconds == 12.0


def test_as_many_clusters_without_a_plan_as_end_the_fleet_refuse_it(tmp_path: Path) -> None:
    Folder(tmp_path).put_plan(Cluster("one", "refused", cause="It is red."))
    Folder(tmp_path).put_plan(Cluster("two", "planned", digest="p1"))
    for failures, state in ((1, "refused"), (2, "passed"), (0, "passed")):
        for agreed in ("planned", "agreed"):
            options = task(fleet_plan.CONTRACT, tmp_path, clusters=["one", "two"], failures=failures, state=agreed)
            assert fleet_plan.run(options).verdict.state.value == state
            assert Folder(tmp_path).read().clusters == {} or state == "passed"
    found = Folder(tmp_path).read()
    assert (found.failures, found.clusters["two"].wave, found.clusters["one"].state) == (0, "wave 1", "refused")
    unplanned = attempt(fleet_plan.run, task(fleet_plan.CONTRACT, tmp_path, clusters=["x"], failures=1))
    assert unplanned.verdict.reasons[0].code == "fleet_unplanned"
    nothing = attempt(fleet_plan.run, task(fleet_plan.CONTRACT, tmp_path, clusters=[], failures=1))
    assert nothing.verdict.reasons[0].code == "fleet_without_clusters"


def test_only_the_plans_that_were_shown_are_taken(tmp_path: Path) -> None:
    """While a person looks at them, a run with --check may make other ones in the same folder."""
    folder = Folder(tmp_path)
    options: dict[str, Any] = {"clusters": ["one"], "failures": 1}
    folder.put_plan(Cluster("one", "planned", digest="p1"))
    shown = fleet_plan.run(task(fleet_plan.CONTRACT, tmp_path, **options)).more["digest"]
    folder.put_plan(Cluster("one", "planned", digest="p2"))
    agreed = task(fleet_plan.CONTRACT, tmp_path, state="agreed", confirmed=shown, **options)
    assert [each.code for each in fleet_plan.run(agreed).verdict.deciding()] == ["plan_changed"]
    assert folder.read() == FleetPlan((), 0)
    folder.put_plan(Cluster("one", "planned", digest="p1"))
    assert fleet_plan.run(agreed).verdict.passed
    assert folder.read().digest == shown


def test_an_upgrade_that_runs_elsewhere_is_noted(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.put(Cluster("one", "planned", digest="p1"))
    folder.put(Cluster("two", "planned", digest="p1"))
    folder.write(FleetPlan((Wave("canary", ("one",)), Wave("wave 2", ("two",))), 1, "f1"))
    begun = cluster_upgrade.run(task(cluster_upgrade.CONTRACT, tmp_path, state="begun", cluster="one"))
    assert begun.more["cluster"]["state"] == "upgrading"
    early = cluster_upgrade.run(task(cluster_upgrade.CONTRACT, tmp_path, state="begun", cluster="two"))
    assert early.more["cluster"]["cause"] == "Wave canary comes first, and is not done on one."
    cluster_upgrade.run(task(cluster_upgrade.CONTRACT, tmp_path, state="ended", cluster="one", cause="No job."))
    late = cluster_upgrade.run(task(cluster_upgrade.CONTRACT, tmp_path, state="begun", cluster="two"))
    assert late.more["cluster"]["cause"] == "The fleet was stopped, since one failed."
    ended = fleet_plan.run(task(fleet_plan.CONTRACT, tmp_path, clusters=["one", "two"], state="ended"))
    assert ended.more["failed_clusters"] == {"one": "No job."}


def test_a_process_ends_once_the_fleet_is_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Folder(tmp_path)
    folder.put(Cluster("one", "planned", digest="p1"))
    folder.write(FleetPlan((Wave("wave 1", ("one",)),), 0, "f1"))

    def play(_command: Any, _log: Path, hear: Any) -> None:
        hear("it goes on")
        cluster_upgrade.run(task(cluster_upgrade.CONTRACT, tmp_path, state="cancelled", cluster="one"))
        hear("and ends here")
        raise AssertionError("it was not ended")

    monkeypatch.setattr(cluster_upgrade, "play", play)
    ended = cluster_upgrade.run(task(cluster_upgrade.CONTRACT, tmp_path, cluster="one")).more["cluster"]
    assert (ended["state"], ended["codes"]) == ("failed", ["fleet_cancelled"])
    folder.put_plan(Cluster("one", "planned", digest="p1"))
    for state in ("arranged", "agreed"):
        fleet_plan.run(task(fleet_plan.CONTRACT, tmp_path, clusters=["one"], state=state))
    assert not folder.is_cancelled()


def test_a_fleet_that_is_cancelled_while_it_is_planned_starts_no_cluster(tmp_path: Path) -> None:
    """The plans of many clusters take minutes, and a person may think about them for hours."""
    folder = Folder(tmp_path)
    folder.put_plan(Cluster("one", "planned", digest="p1"))
    fleet_plan.run(task(fleet_plan.CONTRACT, tmp_path, clusters=["one"], state="arranged"))
    cluster_upgrade.run(task(cluster_upgrade.CONTRACT, tmp_path, state="cancelled", cluster="one"))
    fleet_plan.run(task(fleet_plan.CONTRACT, tmp_path, clusters=["one"], state="agreed"))
    held = cluster_upgrade.run(task(cluster_upgrade.CONTRACT, tmp_path, cluster="one")).more["cluster"]
    assert (held["state"], held["cause"]) == ("not begun", "The fleet was cancelled.")


def test_a_canary_is_compared_with_the_same_time_until_it_has_proven_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second run finds it upgraded: what its upgrade has made worse is there before that run."""
    times = iter(f"2026-11-30T00:{minute}:00Z" for minute in range(10, 60))
    monkeypatch.setattr(cluster_upgrade, "now_text", lambda: next(times))
    monkeypatch.setattr(cluster_upgrade, "play", lambda *_given: Played(0, {"upgrade_state": "done"}, "Done."))
    folder = Folder(tmp_path)
    folder.put_plan(Cluster("one", "planned", digest="p1"))

    def since(*, soaks: bool = True) -> str:
        whole = {"clusters": ["one"], "canary": ["one"], "groups": {"all": ["one"]}}
        fleet_plan.run(Task(fleet_plan.CONTRACT.arguments({"path": str(tmp_path), **whole, "state": "agreed"})))
        cluster_upgrade.run(task(cluster_upgrade.CONTRACT, tmp_path, cluster="one", soaks=soaks))
        return folder.clusters(["one"])["one"].since

    first = since()
    cluster_upgrade.run(task(cluster_upgrade.CONTRACT, tmp_path, state="ended", cluster="one", cause="It is red."))
    assert folder.clusters(["one"])["one"].state == "failed"
    assert since() == since() == first, "neither a soak that failed nor one that was killed changes it"
    cluster_upgrade.run(task(cluster_upgrade.CONTRACT, tmp_path, state="proven", cluster="one"))
    assert first < since()
    assert since(soaks=False) == ""


@pytest.mark.parametrize(
    ("statistics", "state", "codes"),
    [
        ({}, "failed", ["fleet_process_unknown_end"]),
        ({"upgrade_changed": False}, "failed", ["fleet_process_unknown_end"]),
        ({"upgrade_state": "done", "upgrade_reasons": []}, "done", []),
    ],
)
def test_a_process_that_has_left_no_statistics_is_not_known_to_be_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statistics: dict[str, Any], state: str, codes: list[str]
) -> None:
    folder = Folder(tmp_path)
    folder.put(Cluster("one", "planned", digest="p1"))
    folder.write(FleetPlan((Wave("wave 1", ("one",)),), 0, "f1"))
    monkeypatch.setattr(cluster_upgrade, "play", lambda *_given: Played(0, statistics, "Done."))
    ended = cluster_upgrade.run(task(cluster_upgrade.CONTRACT, tmp_path, cluster="one")).more["cluster"]
    assert (ended["state"], ended["codes"]) == (state, codes)
    assert folder.clusters(["one"])["one"].state == state
    assert bool(ended["cause"]) is (state == "failed")
