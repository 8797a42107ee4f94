"""The patch that changes a pool, and the way back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.state import StatefulSet
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.pool_changes import (
    carried_undo,
    changes_to,
    container_of,
    patch_back,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.undo import Writer
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.undo_annotation import UNDO
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes.objects import pool

ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
NEW = "opensearch:3.8.0"


def present(seen: StatefulSet, image: str = NEW) -> dict[str, Any] | None:
    return changes_to(seen, "server", image, "OnDelete", Writer("night", "2026-11-21T00:00:00Z"))


def undo_text(was: dict[str, Any], run: str = "earlier") -> str:
    content = {"run": run, "at": "2026-11-20T00:00:00Z", "changes": [change(was, {"type": "OnDelete"})]}
    return json.dumps(content, separators=(",", ":"))


def change(was: Any, set_to: Any) -> dict[str, Any]:
    return {"path": ["spec", "updateStrategy"], "was": was, "set_to": set_to}


def test_image_and_strategy_change_in_one_guarded_patch_that_carries_its_undo() -> None:
    patch = present(pool(updateStrategy=ROLLING))
    assert patch is not None
    assert patch["metadata"]["resourceVersion"] == "7"
    assert patch["spec"]["updateStrategy"] == {"type": "OnDelete", "rollingUpdate": None}
    assert patch["spec"]["template"] == {"spec": {"containers": [{"name": "server", "image": NEW}]}}
    assert json.loads(patch["metadata"]["annotations"][UNDO]) == {
        "run": "night",
        "at": "2026-11-21T00:00:00Z",
        "image": {"container": "server", "was": "opensearch:2.19.6", "set_to": NEW},
        "changes": [change(ROLLING, {"type": "OnDelete"})],
    }


def test_a_strategy_that_could_not_be_put_back_is_not_changed() -> None:
    with pytest.raises(Refusal, match=r"update strategy of StatefulSet data is .*maxSurge") as caught:
        present(pool(updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}))
    assert [reason.code for reason in caught.value.verdict.reasons] == ["value_not_kept"]


def test_nothing_is_changed_where_all_is_as_wanted() -> None:
    assert present(pool(), "opensearch:2.19.6") is None


def test_init_containers_of_the_same_image_follow() -> None:
    image = "opensearch:2.19.6"
    init = [{"name": "config", "image": image}, {"name": "chown", "image": "busybox:1"}]
    template = {"spec": {"containers": [{"name": "server", "image": image}], "initContainers": init}}
    patch = present(pool(template=template))
    assert patch is not None
    assert patch["spec"]["template"]["spec"]["initContainers"] == [{"name": "config", "image": NEW}]


def test_an_undo_that_holds_is_never_overwritten() -> None:
    patch = present(pool(annotations={UNDO: undo_text(ROLLING)}))
    assert patch is not None
    assert "annotations" not in patch["metadata"]
    assert "updateStrategy" not in patch["spec"]


def test_an_undo_made_void_by_another_is_replaced_by_what_that_one_wanted() -> None:
    theirs = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    patch = present(pool(updateStrategy=theirs, annotations={UNDO: undo_text(ROLLING)}))
    assert patch is not None
    assert json.loads(patch["metadata"]["annotations"][UNDO])["changes"] == [change(theirs, {"type": "OnDelete"})]


def test_the_way_back_restores_the_strategy_and_takes_the_undo_away() -> None:
    seen = pool(annotations={UNDO: undo_text(ROLLING)})
    undo = carried_undo(seen)
    assert undo is not None
    metadata = {"resourceVersion": "7", "annotations": {UNDO: None}}
    assert patch_back(seen, undo) == {"metadata": metadata, "spec": {"updateStrategy": ROLLING}}


def test_the_way_back_leaves_a_strategy_that_another_has_set() -> None:
    seen = pool(updateStrategy=ROLLING, annotations={UNDO: undo_text({"type": "OnDelete"})})
    undo = carried_undo(seen)
    assert undo is not None
    assert "spec" not in patch_back(seen, undo)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"run": "x"}', "null", '{"run": "x", "at": "y", "changes": []}'])
def test_an_undo_that_cannot_be_read_stops_the_work(text: str) -> None:
    with pytest.raises(Refusal) as caught:
        carried_undo(pool(annotations={UNDO: text}))
    assert caught.value.verdict.reasons[0].code == "undo_not_readable"
    assert "data" in str(caught.value)


def test_the_undo_survives_writing_and_reading() -> None:
    undo = carried_undo(pool(annotations={UNDO: undo_text(ROLLING)}))
    assert undo is not None
    assert carried_undo(pool(annotations={UNDO: undo.text()})) == undo


def several(**images: str) -> StatefulSet:
    return pool(template={"spec": {"containers": [{"name": name, "image": image} for name, image in images.items()]}})


def test_the_container_of_an_image() -> None:
    assert container_of(pool(), "anything:1", None) == "server"
    both = several(server="os/opensearch:2", sidecar="fluent-bit:1")
    assert container_of(both, "mirror/opensearch:3", None) == "server"
    assert container_of(both, "mirror/opensearch:3", "sidecar") == "sidecar"


@pytest.mark.parametrize(("image", "named"), [("other:1", None), ("opensearch:3", "missing")])
def test_a_container_that_cannot_be_told_is_asked_for(image: str, named: str | None) -> None:
    with pytest.raises(Refusal) as caught:
        container_of(several(server="opensearch:2", sidecar="fluent-bit:1"), image, named)
    assert "sidecar" in str(caught.value)


@pytest.mark.parametrize(
    ("was", "then", "known"),
    [
        (ROLLING, {"type": "OnDelete"}, True),
        ({"type": "OnDelete"}, {"type": "RollingUpdate"}, True),
        ({"type": "RollingUpdate", "rollingUpdate": None}, {"type": "OnDelete"}, True),
        (
            {"type": "RollingUpdate", "rollingUpdate": {"partition": 2, "maxUnavailable": "25%"}},
            {"type": "OnDelete"},
            True,
        ),
        ({"type": "Recreate"}, {"type": "OnDelete"}, False),
        ({}, {"type": "OnDelete"}, False),
        (ROLLING, {"type": "Recreate"}, False),
        (ROLLING, None, False),
        ({"type": "RollingUpdate", "rollingUpdate": {"partition": "0"}}, {"type": "OnDelete"}, False),
        ({"type": "RollingUpdate", "rollingUpdate": {"partition": -1}}, {"type": "OnDelete"}, False),
        ({"type": "RollingUpdate", "rollingUpdate": {"partition": 0, "paused": True}}, {"type": "OnDelete"}, False),
        ({"type": "OnDelete", "template": {}}, {"type": "OnDelete"}, False),
        ("RollingUpdate", {"type": "OnDelete"}, False),
    ],
)
def test_an_undo_with_a_strategy_that_no_set_has_is_refused(was: Any, then: Any, known: bool) -> None:
    undo = json.loads(undo_text({}))
    carrying = pool(annotations={UNDO: json.dumps({**undo, "changes": [change(was, then)]})})
    if known:
        assert carried_undo(carrying) is not None
        return
    with pytest.raises(Refusal, match=f"StatefulSet {carrying.name}") as caught:
        carried_undo(carrying)
    assert [reason.code for reason in caught.value.verdict.reasons] == ["undo_not_readable"]
