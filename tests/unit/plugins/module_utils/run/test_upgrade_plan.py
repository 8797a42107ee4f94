"""The plan together with all that hinders it: which parts are asked, with which arguments, and one verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Contract, Outcome, Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.common.timestamps import utc_now
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict, refused, remark
from ansible_collections.stateful.upgrade.plugins.module_utils.common.waiting import MonotonicClock
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes import client as kubernetes
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import (
    followers,
    health_gate,
    image_plugins,
    pool_order,
    upgrade_plan,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.pools import admission, image_pull
from ansible_collections.stateful.upgrade.plugins.module_utils.run import runs
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock import upgrade_lock
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock.lock import name_for
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record import kept_in
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import Phase
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import Record
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_files import Files
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_keeping import Nowhere, read_records
from ansible_collections.stateful.upgrade.plugins.module_utils.run.start import start
from ansible_collections.stateful.upgrade.plugins.modules.upgrade_plan import CONTRACT, run
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.common.test_waiting import VirtualClock
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.records import AT, batch_of, record_of

Json = dict[str, Any]
TOLD = {"kind": "data", "reason": "data", "proof": "every shard keeps a copy"}
MORE: Json = {
    "digest": "p1",
    "cluster_uuid": "uuid",
    "target_version": "3.8.0",
    "deployed_version": "2.19.6",
    "product": "OpenSearch",
    "left": [],
    "members": ["data-0", "data-1", "lonely"],
    "broken": ["data-1"],
    "pools": [
        {
            "name": "data",
            "uid": "u-data",
            "status": "pending",
            "members": ["data-0", "data-1"],
            "target_image": "opensearch:3.8.0",
            "container": "opensearch",
        },
        {
            "name": "managers",
            "uid": "u-managers",
            "status": "pending",
            "members": [],
            "target_image": "opensearch:3.8.0",
            "container": "opensearch",
        },
    ],
    "batches": [
        {"name": "b1", "pools": ["data"], "members": ["data-1"], "cures": False, **TOLD},
        {"name": "b2", "pools": ["data"], "members": ["data-0"], "cures": False, **TOLD},
    ],
}
ASKED = ("admission", "cluster_health_gate", "followers", "image_plugins", "upgrade_lock")


class Modules:
    """Stands for the modules that the plan is made of, and notes with which arguments each was asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[str, Mapping[str, Any]]] = []
        self.says: dict[str, Verdict] = {}
        rooms = {"cluster_health_gate": health_gate, "followers": followers, "image_plugins": image_plugins}
        for name, room in {**rooms, "image_pull": image_pull, "pool_order": pool_order}.items():
            monkeypatch.setattr(room, "run", self._standing_for(name, room.CONTRACT))
        monkeypatch.setattr(runs, "manage_lock", self._standing_for("upgrade_lock", upgrade_lock.CONTRACT))
        offering = Contract({"planned": {"type": "list"}})
        monkeypatch.setattr(admission, "run", self._standing_for("admission", offering))
        on_hosts = self._standing_for("run_on_hosts", image_plugins.CONTRACT)
        monkeypatch.setattr(image_plugins, "run_on_hosts", on_hosts)
        self.records: dict[str, Record] = {}
        self.told: list[tuple[str, ...]] = []
        monkeypatch.setattr(kubernetes, "connect", lambda _options: None)
        monkeypatch.setattr(kept_in, "store_of", lambda _params: Nowhere())
        monkeypatch.setattr(runs, "read_records", lambda _store: (self.records, Verdict()))
        for name, there in (("uuid_for", "uuid"), ("_pools_there", [])):
            monkeypatch.setattr(upgrade_plan, name, lambda *_given, there=there: there)
        monkeypatch.setattr(upgrade_plan, "warn", lambda _client, *said: self.told.append(said))

    def _standing_for(self, name: str, contract: Contract) -> Callable[[Task], Outcome]:
        def run(task: Task, *_more: object, **_places: object) -> Outcome:
            assert set(contract.argument_spec) <= set(task.params)
            self.asked.append((name, task.params))
            return Outcome(self.says.get(name, Verdict()), more=MORE if name == "pool_order" else {})

        return run

    def plan(self, **params: Any) -> Json:
        spec = CONTRACT.argument_spec
        given = {name: option.get("default") for name, option in spec.items()}
        check, clock = params.pop("check_mode", False), params.pop("clock", MonotonicClock())
        own = {"namespace": "search", "target_version": "3.8.0", "wait_sleep": 0.1, **params}
        return perform(run, Task({**given, **own}, check_mode=check, clock=clock))

    def names(self) -> list[str]:
        return sorted(name for name, _params in self.asked)


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Modules:
    return Modules(monkeypatch)


def codes(result: Json) -> list[str]:
    return sorted(reason["code"] for reason in result["verdict"]["reasons"])


def test_everything_is_asked_once_and_an_image_for_each_pool_that_changes(modules: Modules) -> None:
    result = modules.plan(image_timeout=700, take_over="night", zone_attribute="rack")
    assert (result["verdict"]["state"], result["digest"]) == ("passed", "p1")
    assert modules.names() == sorted(["pool_order", *ASKED])
    asked = dict(modules.asked)
    assert asked["cluster_health_gate"]["moment"] == "before_upgrade"
    assert asked["cluster_health_gate"]["expected"] == MORE["members"]
    assert asked["cluster_health_gate"]["batch"] == ["data-1"]
    assert asked["cluster_health_gate"]["batches"] == [["data-1"], ["data-0"]]
    assert asked["cluster_health_gate"]["zone_attribute"] == "rack"
    image = asked["image_plugins"]
    assert (image["pool"], image["image"], image["wait_timeout"]) == ("data", "opensearch:3.8.0", 700)
    assert image["target_version"] == "3.8.0"
    assert asked["admission"]["planned"] == [
        admission.Planned("data", ["data-0", "data-1"], "opensearch", "opensearch:3.8.0")
    ]
    lock = asked["upgrade_lock"]
    assert (lock["state"], lock["cluster_uuid"], lock["take_over"], lock["lease_duration"]) == (
        "free",
        "uuid",
        "night",
        60,
    )


def test_the_gate_is_told_which_checks_to_make(modules: Modules) -> None:
    modules.plan(skip_checks=["disk"], add_checks=["progress"])
    gate = dict(modules.asked)["cluster_health_gate"]
    assert (gate["skip_checks"], gate["add_checks"]) == (["disk"], ["progress"])


def test_all_that_stands_in_the_way_is_told_at_once(modules: Modules) -> None:
    for name in ASKED:
        modules.says[name] = Verdict((refused(f"no_{name}", f"{name} says no.", "Fix it."),))
    result = modules.plan()
    assert result["failed"]
    assert codes(result) == [f"no_{name}" for name in ASKED]
    told = [
        {**batch, "drained": [], "empties": [], "place": f"{number}/2"}
        for number, batch in enumerate(MORE["batches"], 1)
    ]
    assert result["batches"] == told  # the plan can be shown before it is refused


def test_no_pod_is_made_for_a_plan_that_is_refused_or_where_none_is_wanted(modules: Modules) -> None:
    modules.plan(skip_checks=["images"])
    modules.says["pool_order"] = Verdict((refused("no_path", "No way leads there.", "Go elsewhere."),))
    result = modules.plan()
    assert (codes(result), "image_plugins" in modules.names()) == (["no_path"], False)


def test_without_the_check_of_plugins_the_images_are_only_pulled(modules: Modules) -> None:
    modules.plan(skip_checks=["plugins"])
    asked = {*ASKED, "pool_order", "image_pull"} - {"image_plugins"}
    assert modules.names() == sorted(asked)


def test_on_plain_hosts_there_is_no_image_and_the_plugins_are_named(modules: Modules) -> None:
    modules.says["run_on_hosts"] = Verdict((remark("plugins_on_hosts", "Members have these plugins: icu."),))
    groups = {"namespace": None, "groups": {"data": ["data-0"]}}
    assert codes(modules.plan(**groups)) == ["plugins_on_hosts"]
    assert codes(modules.plan(**groups, skip_checks=["plugins"])) == []
    assert "image_pull" not in modules.names()


def test_another_plan_than_the_confirmed_one_is_refused(modules: Modules) -> None:
    assert codes(modules.plan(confirmed="p1")) == []
    changed = modules.plan(confirmed="p0")
    assert (changed["failed"], codes(changed)) == (True, ["plan_changed"])


def test_its_own_lock_does_not_stand_in_the_way_and_that_of_another_cluster_says_nothing(modules: Modules) -> None:
    for name, asked in ((name_for("uuid"), {"run": "night", "name": name_for("uuid")}), (name_for("other"), None)):
        modules.plan(lock={"run": "night", "name": name})
        assert dict(modules.asked)["upgrade_lock"]["lock"] == asked


def test_a_refused_plan_is_told_to_every_pool_where_that_is_wanted(modules: Modules) -> None:
    modules.says["cluster_health_gate"] = Verdict((refused("gone", "A member is gone.", "Bring it back."),))
    modules.plan()
    modules.plan(announce=True, check_mode=True)
    assert modules.told == []
    modules.plan(announce=True)
    assert modules.told == [
        ("search", "data", "u-data", "A member is gone. Bring it back."),
        ("search", "managers", "u-managers", "A member is gone. Bring it back."),
    ]


def test_how_long_it_takes_is_told_from_what_was_measured_on_this_cluster(modules: Modules) -> None:
    first = modules.plan()
    assert (first["predicted_seconds"], first["prediction"], first["earlier"]) == (120, "guessed", {})
    done = batch_of("data-0", state="done", started=AT, ended="2026-11-21T02:01:30Z")
    begun = batch_of("data-0", state="upgrading", started=AT)
    for name, cluster in (("here", "uuid"), ("elsewhere", "other")):
        batches = (done, begun) if name == "here" else (begun,)
        modules.records[name] = record_of(*batches, cluster=cluster, phase=Phase.COMPLETED)
    known = modules.plan()
    assert (known["predicted_seconds"], known["prediction"], known["earlier"]) == (180, "measured", {})


def test_an_upgrade_that_goes_on_counts_the_batches_that_are_done(modules: Modules) -> None:
    modules.records["here"] = record_of(batch_of("other-0", state="done", started=AT, ended=AT))
    result = modules.plan(target_version="3.8.0")
    assert result["earlier"] == {"started": AT, "done": 1}
    assert [batch["place"] for batch in result["batches"]] == ["2/3", "3/3"]


@pytest.mark.parametrize(("after", "said"), [(2, []), (3, ["approval_not_reached"])])
def test_a_point_behind_the_last_batch_is_named(modules: Modules, after: int, said: list[str]) -> None:
    modules.records["here"] = record_of(batch_of("other-0", state="done", started=AT, ended=AT))
    result = modules.plan(target_version="3.8.0", approvals=[{"name": "rest", "after": after}])
    assert [code for code in codes(result) if code == "approval_not_reached"] == said


def test_no_image_is_proven_where_the_members_are_on_plain_hosts(modules: Modules) -> None:
    modules.plan(namespace=None, groups={"data": ["data-0", "data-1"]}, kept_in="opensearch")
    assert modules.names() == ["cluster_health_gate", "followers", "pool_order", "run_on_hosts", "upgrade_lock"]
    assert dict(modules.asked)["upgrade_lock"]["kept_in"] == "opensearch"


def test_one_pass_waits_for_what_another_pass_would_begin_anew(modules: Modules) -> None:
    modules.plan(wait=False)
    asked = dict(modules.asked)
    assert {name: asked[name]["wait"] for name in ASKED} == {
        "admission": False,
        "cluster_health_gate": False,
        "followers": False,
        "image_plugins": True,
        "upgrade_lock": True,
    }


@pytest.mark.parametrize(("wait", "state"), [(True, "refused"), (False, "waiting")])
def test_servers_out_of_reach_are_waited_for_by_the_next_pass(wait: bool, state: str) -> None:
    given = {name: option.get("default") for name, option in CONTRACT.argument_spec.items()}
    nowhere = {"kubernetes": {"host": "http://127.0.0.1:1"}, "opensearch": {"hosts": ["http://127.0.0.1:1"]}}
    params = {**given, **nowhere, "namespace": "search", "target_version": "3.8.0", "wait": wait}
    result = perform(run, Task({**params, "wait_timeout": 0}))
    assert (result["verdict"]["state"], result.get("failed", False)) == (state, wait)
    # On a busy machine the time for the first answer is over before that for the whole, and says the same by itself.
    assert {*codes(result)} - {"timed_out"} == {"kubernetes_unreachable", "opensearch_unreachable"}
    assert wait or "timed_out" not in codes(result)


def moment(seconds: float) -> str:
    """So many seconds from now on."""
    return (utc_now() + timedelta(seconds=seconds)).isoformat()


def test_before_its_time_an_upgrade_waits_and_the_plan_is_there(modules: Modules) -> None:
    result = modules.plan(at=moment(3_600), wait=False)
    assert (result["verdict"]["state"], codes(result), result["digest"]) == ("waiting", ["starts_later"], "p1")


def test_a_plan_with_a_window_and_without_a_start_time_says_that_it_starts_at_once(modules: Modules) -> None:
    result = modules.plan(window=60, window_policy="pause")
    (note,) = [line for line in result["lines"] if "without a start time" in line]
    assert note.startswith("  Note: upgrade_window, upgrade_window_policy do nothing without a start time")
    assert not [line for line in modules.plan()["lines"] if "without a start time" in line]


@pytest.fixture
def kept(modules: Modules, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], list[Record]]:
    """Gives the records of the place, which the plan reads, too."""
    monkeypatch.setattr(kept_in, "store_of", lambda _params: Files(tmp_path))
    monkeypatch.setattr(runs, "read_records", read_records)
    return lambda: list(read_records(Files(tmp_path))[0].values())


def test_an_upgrade_is_pending_until_its_moment_with_what_is_new_and_what_is_cured(
    modules: Modules, kept: Callable[[], list[Record]]
) -> None:
    at = moment(3_600)
    assert modules.plan(at=at, wait=False)["actions"] == []
    assert kept() == []
    modules.plan(at=at, wait=False, announce=True, check_mode=True)
    assert kept() == []
    modules.plan(at=at, wait=False, announce=True)
    (pending,) = kept()
    assert pending.start is not None
    assert (pending.phase, pending.run, pending.start.findings) == (Phase.PENDING, "", ())
    modules.plan(at=at, wait=False, announce=True)
    assert len(kept()[0].history) == 1
    modules.says["cluster_health_gate"] = Verdict((refused("gone", "A member is gone.", "Bring it back."),))
    modules.plan(at=at, wait=False, announce=True)
    (again,) = kept()
    assert again.start is not None
    assert (again.start.findings, again.start.new) == (("A member is gone.",), ("A member is gone.",))
    del modules.says["cluster_health_gate"]
    modules.plan(at=at, wait=False, announce=True)
    assert [each.more[-1:] for each in kept()[0].history] == [
        (),
        ("to be fixed before: A member is gone.",),
        ("fixed: A member is gone.",),
    ]


def test_a_delay_is_told_once_and_the_pass_that_tells_it_ends_there(
    modules: Modules, kept: Callable[[], list[Record]]
) -> None:
    given: Json = {"at": moment(-2_000), "announce": True, "wait": False}
    assert codes(modules.plan(**given, window=240)) == []
    modules.says["cluster_health_gate"] = Verdict((refused("gone", "A member is gone.", "Bring it back."),))
    late = modules.plan(**given)
    assert (late["verdict"]["state"], codes(late)) == ("waiting", ["gone", "start_delayed"])
    assert any("has not begun. A member is gone." in each["message"] for each in late["verdict"]["reasons"])
    assert modules.told[0] == ("search", "data", "u-data", "A member is gone. Bring it back.")
    again = modules.plan(**given)
    assert (again["verdict"]["state"], codes(again)) == ("refused", ["gone"])
    (record,) = kept()
    assert record.start is not None
    assert (record.phase, bool(record.start.delayed), len(record.history)) == (Phase.PENDING, True, 2)


def test_an_upgrade_that_has_missed_its_window_has_failed_and_another_moment_begins_anew(
    modules: Modules, kept: Callable[[], list[Record]], monkeypatch: pytest.MonkeyPatch
) -> None:
    at = moment(60)
    modules.plan(at=at, wait=False, announce=True)
    monkeypatch.setattr(start, "utc_now", lambda: utc_now() + timedelta(hours=3))
    for _time in range(2):
        assert codes(modules.plan(at=at, wait=False, announce=True)) == ["window_over"]
    (failed,) = kept()
    assert (failed.phase, len(failed.history)) == (Phase.FAILED, 2)
    assert "and no batch had begun then" in failed.reason
    modules.plan(at=moment(4 * 3_600), wait=False, announce=True)
    (pending,) = kept()
    assert (pending.phase, len(pending.history)) == (Phase.PENDING, 3)


def test_a_schedule_needs_a_record(modules: Modules) -> None:
    assert codes(modules.plan(at=moment(3_600), wait=False, announce=True)) == ["schedule_without_record"]


def test_before_its_time_what_stands_in_the_way_is_told_and_announced_and_refuses_nothing(modules: Modules) -> None:
    modules.says["cluster_health_gate"] = Verdict((refused("gone", "A member is gone.", "Bring it back."),))
    result = modules.plan(at=moment(3_600), wait=False)
    assert (result["verdict"]["state"], codes(result)) == ("waiting", ["gone", "starts_later"])
    said = {one["code"]: (one["state"], one["message"]) for one in result["verdict"]["reasons"]}
    assert said["gone"] == ("passed", "To be fixed before the start: A member is gone.")
    assert [one["code"] for one in result["to_fix"]] == ["gone"]
    assert modules.plan(at=moment(3_600), wait=False, early_look=30)["to_fix"] == []
    waits = modules.plan(at=moment(3_600))
    assert (waits["verdict"]["state"], codes(waits)) == ("refused", ["gone", "starts_later"])


def test_a_run_that_waits_gives_up_at_once_if_its_start_is_too_far_away(modules: Modules) -> None:
    assert codes(modules.plan(at=moment(3_600))) == ["starts_too_late"]


def test_a_run_that_waits_begins_at_its_time(modules: Modules, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = VirtualClock()
    begun = utc_now()
    monkeypatch.setattr(start, "utc_now", lambda: begun + timedelta(seconds=clock.now()))
    result = modules.plan(clock=clock, at=(begun + timedelta(seconds=601)).isoformat())
    assert (result["verdict"]["state"], codes(result)) == ("passed", [])
    assert 601 <= clock.now() < 610


def test_other_refusals_are_told_beside_a_window_that_is_over(modules: Modules) -> None:
    modules.says["upgrade_lock"] = Verdict((refused("no_lock", "It says no.", "Fix it."),))
    assert codes(modules.plan(at=moment(-8_000))) == ["no_lock", "window_over"]


def test_an_upgrade_that_has_begun_goes_on_after_its_window(modules: Modules) -> None:
    assert codes(modules.plan(at=moment(-8_000))) == ["window_over"]
    modules.records["here"] = record_of(batch_of("data-9", state="upgrading", started=moment(0)))
    assert codes(modules.plan(at=moment(-8_000))) == []


def test_added_capacity_is_named_also_when_no_batch_is_left(modules: Modules, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MORE, "batches", [])
    assert modules.plan(extra_member="data")["adds"] == ["one member of pool data"]
