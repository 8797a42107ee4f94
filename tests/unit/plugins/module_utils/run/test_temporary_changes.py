"""The undo of a made-up custom resource, of which this collection knows nothing but paths."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock.lease import Lease, lease_at
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock.lock_watch import Writers
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.temporary_changes import change, put_back
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.undo import Change, Path
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.undo_annotation import UNDO
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.stores import OTHER, Passing

from tests.sandbox.kubernetes.in_process import InProcess

Json = dict[str, Any]
DEFINITION: Json = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "shelves.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "shelves", "singular": "shelf", "kind": "Shelf", "listKind": "ShelfList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "value": {"type": "string"},
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "open": {"type": "boolean"},
                                    "copies": {"type": "integer"},
                                    "keeper": {"type": "string"},
                                    "paint": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                                },
                            },
                        },
                    }
                },
            }
        ],
    },
}
pytestmark = pytest.mark.usefixtures("uncollected")
PATH = "/apis/example.com/v1/namespaces/search/shelves/a"
OPEN: Path = ("spec", "open")
COPIES: Path = ("spec", "copies")
KEEPER: Path = ("spec", "keeper")
PAINT: Path = ("spec", "paint")
VALUE: Path = ("value",)
WAS: Json = {"spec": {"open": True, "copies": 3, "paint": {"red": {"lead": 1}, "blue": 2}}, "value": ""}
WANTED: dict[Path, Any] = {OPEN: False, COPIES: 0, KEEPER: "", PAINT: {"red": {"zinc": 1}}, VALUE: "x"}


def is_known(made: Change) -> bool:
    return made.path in WANTED


def shelf() -> InProcess:
    api = InProcess(namespaces=("search", "night"))
    api.put_there("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/shelves.example.com", DEFINITION)
    item = {"apiVersion": "example.com/v1", "kind": "Shelf", "metadata": {"name": "a", "namespace": "search"}, **WAS}
    api.put_there(PATH, item)
    return api


def task_of(run: str, namespace: str = "night", clock: Passing | None = None, **given: Any) -> Task:
    lock = {"run": run, "name": "lock", "kept_in": "kubernetes", "namespace": namespace, "seconds": 60}
    return Task(params={"lock": lock, **given}, clock=clock or Passing())


def content(api: InProcess) -> Json:
    return {name: api.objects[PATH][name] for name in ("spec", "value")}


def carried(api: InProcess) -> Json:
    undo: Json = json.loads(api.objects[PATH]["metadata"]["annotations"][UNDO])
    return undo


def forth(api: InProcess, task: Task, wanted: dict[Path, Any]) -> bool:
    client = api.client()
    return change(task, client, PATH, wanted, is_known, Writers(task, partial(lease_at, client), "shelf_repair").judge)


def back(api: InProcess, task: Task) -> tuple[bool, list[str]]:
    client = api.client()
    writers = Writers(task, partial(lease_at, client), "shelf_repair")
    changed, said = put_back(task, client, PATH, is_known, writers.judge)
    return changed, [reason.message for reason in said]


def test_there_and_back_again_exactly() -> None:
    api, task = shelf(), task_of("one")
    assert forth(api, task, WANTED)
    assert content(api) == {
        "spec": {"open": False, "copies": 0, "keeper": "", "paint": {"red": {"zinc": 1}}},
        "value": "x",
    }
    assert not forth(api, task, WANTED)
    assert back(api, task) == (True, [])
    assert content(api) == WAS
    assert UNDO not in api.objects[PATH]["metadata"].get("annotations", {})
    assert back(api, task) == (False, [])
    assert [each["action"] for each in task.journal.as_result()] == ["changed", "restored"]


def test_a_value_that_could_not_be_put_back_is_not_changed() -> None:
    api, task = shelf(), task_of("one")
    client = api.client()
    judge = Writers(task, partial(lease_at, client), "shelf_repair").judge
    with pytest.raises(Refusal) as caught:
        change(task, client, PATH, {COPIES: 0, VALUE: "x"}, lambda made: made.path == VALUE, judge)
    (reason,) = caught.value.verdict.reasons
    assert (reason.code, "spec.copies of Shelf a is 3" in reason.message) == ("value_not_kept", True)
    assert content(api) == WAS


def test_in_check_mode_nothing_is_changed() -> None:
    api = shelf()
    assert forth(api, replace(task_of("one"), check_mode=True), WANTED)
    assert content(api) == WAS


def test_a_second_change_keeps_what_was_before_the_first() -> None:
    api = shelf()
    turns: list[tuple[str, dict[Path, Any]]] = [("one", {COPIES: 2}), ("two", {COPIES: 1, OPEN: False})]
    for run, wanted in (*turns, ("two", {COPIES: 4})):
        assert forth(api, task_of(run), wanted)
    undo = carried(api)
    assert (undo["run"], [(each["was"], each["set_to"]) for each in undo["changes"]]) == (
        "two",
        [(3, 4), (True, False)],
    )
    back(api, task_of("two"))
    assert content(api) == WAS


def test_what_another_has_changed_since_is_left_and_told() -> None:
    api, task = shelf(), task_of("one")
    forth(api, task, {COPIES: 2, OPEN: False})
    api.client().patch(PATH, {"spec": {"copies": 7}}, "merge")
    (said,) = back(api, task)[1]
    assert said == (
        "Run one set spec.copies of Shelf a to 2, and something else has changed it to 7 since; it is left as it is."
    )
    assert content(api) == {**WAS, "spec": {**WAS["spec"], "copies": 7}}


def test_a_value_that_another_has_changed_and_a_run_sets_again_goes_back_to_what_that_one_wanted() -> None:
    api, task = shelf(), task_of("one")
    forth(api, task, {COPIES: 2})
    api.client().patch(PATH, {"spec": {"copies": 7}}, "merge")
    forth(api, task, {COPIES: 2})
    assert back(api, task) == (True, [])
    assert content(api) == {**WAS, "spec": {**WAS["spec"], "copies": 7}}


def test_somebody_who_writes_between_the_look_and_the_patch_is_seen() -> None:
    api, task = shelf(), task_of("one")

    def writes() -> None:
        api.before.clear()
        api.client().patch(PATH, {"spec": {"copies": 5}}, "merge")

    api.before = [lambda: None, writes]
    forth(api, task, {COPIES: 2})
    assert [each["was"] for each in carried(api)["changes"]] == [5]


def test_what_a_living_run_has_set_stays_and_what_a_dead_one_has_set_goes_back() -> None:
    api, clock = shelf(), Passing()
    lease = Lease(api.client(), "night", "lock")
    held = lease.write(replace(OTHER, run="one", seconds=60), None)
    forth(api, task_of("one"), {OPEN: False})

    def renew() -> None:
        lease.write(replace(held, renewed="later"), lease.read())

    def renew_again() -> None:
        lease.write(replace(held, renewed="later still"), lease.read())

    clock.on_tick = [renew]
    with pytest.raises(Refusal) as caught:
        back(api, task_of("two", "search", clock))
    assert [reason.code for reason in caught.value.verdict.reasons] == ["locked"]
    assert content(api)["spec"]["open"] is False
    clock.on_tick = [renew_again]
    with pytest.raises(Refusal, match=r"Run one of .* has held the lock"):
        forth(api, task_of("two", "search", clock), {COPIES: 2})
    assert (content(api)["spec"]["copies"], carried(api)["run"]) == (3, "one")
    assert back(api, task_of("two", "search")) == (True, [])
    assert content(api) == WAS


@pytest.mark.parametrize("text", ["", "[]", "7", '{"run": "x", "at": "y", "changes": []}', "[" * 100_000])
def test_an_undo_that_cannot_be_read_is_refused_with_its_object(text: str) -> None:
    api = shelf()
    api.client().patch(PATH, {"metadata": {"annotations": {UNDO: text}}}, "merge")
    for act in (
        lambda: forth(api, task_of("one"), WANTED),
        lambda: back(api, task_of("one")),
    ):
        with pytest.raises(Refusal, match="of Shelf a is not what this collection writes"):
            act()
    assert content(api) == WAS


def test_an_undo_with_a_change_that_no_run_makes_is_not_believed() -> None:
    api = shelf()
    forth(api, task_of("one"), {OPEN: False})
    forged = {**carried(api), "changes": [{"path": ["spec", "paint", "red"], "was": 1, "set_to": 2}]}
    api.client().patch(PATH, {"metadata": {"annotations": {UNDO: json.dumps(forged)}}}, "merge")
    with pytest.raises(Refusal, match=r"upgrade\.stateful/undo"):
        back(api, task_of("one"))
    assert content(api)["spec"]["open"] is False


def test_an_object_that_is_gone_cannot_be_changed_and_has_nothing_to_put_back() -> None:
    api = shelf()
    del api.objects[PATH]
    with pytest.raises(Refusal, match=r"no object at /apis/example\.com"):
        forth(api, task_of("one"), WANTED)
    assert back(api, task_of("one")) == (False, [])
