"""Changing a pool's image: what is refused, what is tried again, and what is reported."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Conflict, Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome, Task
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State, refused
from ansible_collections.stateful.upgrade.plugins.module_utils.pools import pool_image
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.undo_annotation import UNDO
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes import objects

Json = dict[str, Any]
ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
NAMES = ("data-0", "data-1", "data-2")


class Api:
    """One pool and its pods; applies the patches that the module makes, unless something else was faster."""

    def __init__(self, **pool: Any) -> None:
        self.pool = objects.pool_json(**{"updateStrategy": ROLLING, "annotations": {}, **pool})
        self.pods = {name: objects.pod_json(name) for name in NAMES}
        self.faster = 0
        self.patches: list[Json] = []

    def get(self, _path: str) -> Json:
        copied: Json = json.loads(json.dumps(self.pool))
        return copied

    def list(self, _path: str, label_selector: str | None = None) -> Any:
        return list(self.pods.values())

    def patch(self, _path: str, body: Json, _kind: str, dry_run: bool) -> Json:
        if self.faster or body["metadata"]["resourceVersion"] != self.pool["metadata"]["resourceVersion"]:
            self.faster -= 1
            self.pool["metadata"]["resourceVersion"] += "0"
            raise Conflict(refused("kubernetes_conflict", "It changed.", ""))
        self.patches.append(body)
        before = self.get("")
        self._merge(body)
        after = self.get("")
        if dry_run:
            self.pool = before
        return after

    def _merge(self, body: Json) -> None:
        spec = body.get("spec", {})
        for container in spec.get("template", {}).get("spec", {}).get("containers", []):
            self.pool["spec"]["template"]["spec"]["containers"][0].update(container)
        merged = {**self.pool["spec"]["updateStrategy"], **spec.get("updateStrategy", {})}
        self.pool["spec"]["updateStrategy"] = {key: value for key, value in merged.items() if value is not None}
        notes = {**self.pool["metadata"]["annotations"], **body["metadata"].get("annotations", {})}
        self.pool["metadata"]["annotations"] = {key: value for key, value in notes.items() if value is not None}

    def run(self, monkeypatch: pytest.MonkeyPatch, check_mode: bool = False, **params: Any) -> Outcome:
        monkeypatch.setattr(pool_image, "connect", lambda _options: self)
        defaults: Json = {"kubernetes": {}, "namespace": "search", "pool": "data", "state": "present"}
        defaults.update(lock={"run": "night"}, wait=False)
        defaults.update(image="opensearch:3.8.0", container=None, strategy="OnDelete", allow_field_managers=[])
        task = Task(params={**defaults, **params}, check_mode=check_mode)
        outcome = pool_image.run(task)
        return replace(outcome, more={"actions": task.journal.as_result()})


def codes(outcome: Outcome) -> list[str]:
    return [reason.code for reason in outcome.verdict.reasons]


def test_there_and_back_again(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api()
    first = api.run(monkeypatch)
    assert first.changed
    assert sorted(first.more["actions"][0]["set"]) == ["image", "strategy", "undo"]
    assert api.pool["spec"]["updateStrategy"] == {"type": "OnDelete"}
    assert not api.run(monkeypatch).changed
    back = api.run(monkeypatch, state="restored", image=None)
    assert back.changed
    assert codes(back) == []
    assert api.pool["spec"]["updateStrategy"] == ROLLING
    assert api.pool["metadata"]["annotations"] == {}
    assert not api.run(monkeypatch, state="restored", image=None).changed


def test_check_mode_changes_nothing_and_shows_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api()
    checked = api.run(monkeypatch, check_mode=True)
    assert api.pool["spec"]["updateStrategy"] == ROLLING
    assert checked.changed
    real = api.run(monkeypatch)
    assert checked.after is not None
    assert real.after is not None
    assert {**checked.after, "undo": ""} == {**real.after, "undo": ""}


def test_a_change_in_between_is_observed_and_judged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api()
    api.faster = 3
    assert api.run(monkeypatch).changed
    assert len(api.patches) == 1
    never = Api()
    never.faster = 1000
    with pytest.raises(Conflict):
        never.run(monkeypatch)


@pytest.mark.parametrize(
    ("pod", "code"),
    [
        ({"ready": False}, "strategy_waits"),
        ({"revision": "data-old"}, "strategy_kept"),
        ({"terminating": True}, "strategy_waits"),
        (None, "strategy_waits"),
    ],
)
def test_the_strategy_stays_while_a_pod_is_not_there_yet(
    monkeypatch: pytest.MonkeyPatch, pod: Json | None, code: str
) -> None:
    api = Api()
    api.run(monkeypatch)
    if pod is None:
        del api.pods["data-1"]
    else:
        api.pods["data-1"] = objects.pod_json("data-1", **pod)
    outcome = api.run(monkeypatch, state="restored", image=None)
    assert codes(outcome) == [code]
    assert outcome.verdict.passed is (code == "strategy_kept")
    assert not outcome.changed
    assert "data-1" in outcome.verdict.reasons[0].message
    assert ("Run the upgrade again" in outcome.verdict.reasons[0].remedy) is (code == "strategy_kept")
    assert UNDO in api.pool["metadata"]["annotations"]


def test_no_roll_ends_at_an_image_that_something_else_has_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api()
    api.run(monkeypatch)
    api.pool["spec"]["template"]["spec"]["containers"][0]["image"] = "opensearch:2.19.6"
    api.pods["data-1"] = objects.pod_json("data-1", revision="data-old")
    outcome = api.run(monkeypatch, state="restored", image=None)
    assert codes(outcome) == ["image_put_back", "strategy_kept"]
    assert outcome.verdict.state is State.REFUSED
    assert api.pool["spec"]["updateStrategy"] == {"type": "OnDelete"}
    assert UNDO in api.pool["metadata"]["annotations"]


def test_a_strategy_set_by_another_is_left_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api()
    api.run(monkeypatch)
    theirs = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    api.pool["spec"]["updateStrategy"] = theirs
    outcome = api.run(monkeypatch, state="restored", image=None)
    assert codes(outcome) == ["strategy_changed_by_another"]
    assert api.pool["spec"]["updateStrategy"] == theirs
    assert UNDO not in api.pool["metadata"]["annotations"]


def test_a_strategy_put_back_by_hand_needs_only_the_undo_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api()
    api.run(monkeypatch)
    api.pool["spec"]["updateStrategy"] = dict(ROLLING)
    outcome = api.run(monkeypatch, state="restored", image=None)
    assert outcome.changed
    assert codes(outcome) == []
    assert UNDO not in api.pool["metadata"]["annotations"]


def test_a_pool_deployed_by_helm_needs_consent_only_to_be_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api(managedFields=[{"manager": "helm", "fieldsV1": {}}])
    with pytest.raises(Refusal) as caught:
        api.run(monkeypatch)
    assert caught.value.verdict.state is State.REFUSED
    assert api.patches == []
    assert api.run(monkeypatch, allow_field_managers=["helm"]).changed
    assert not api.run(monkeypatch).changed
    assert api.run(monkeypatch, state="restored", image=None).changed


def test_a_pool_of_an_operator_is_refused_even_if_nothing_would_change(monkeypatch: pytest.MonkeyPatch) -> None:
    owner = {"kind": "OpenSearchCluster", "name": "logs", "apiVersion": "v1", "controller": True}
    api = Api(ownerReferences=[owner], updateStrategy={"type": "OnDelete"})
    with pytest.raises(Refusal) as caught:
        api.run(monkeypatch, image="opensearch:2.19.6")
    assert "OpenSearchCluster logs" in str(caught.value)
