"""Changing a pool's image: only with the rights for it, and only on the state that was looked at."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import yaml
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Conflict, Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Reason, State
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.client import KubernetesClient
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.rights import missing_rights
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.state import StatefulSet
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.stateful_sets import get_stateful_set
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.rights import ROLE
from ansible_collections.stateful.upgrade.plugins.module_utils.pools import pool_image
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.temporary_changes import ATTEMPTS

from tests.scenarios.kubernetes.room import NEW, OLD, Room, image_of

pytestmark = pytest.mark.real_servers

ENDLESS = 1000


def test_without_any_right_every_right_of_the_role_is_named(bare_room: Room) -> None:
    verdict = missing_rights(bare_room.upgrader, bare_room.namespace, ROLE)
    assert [reason.state for reason in verdict.reasons] == [State.REFUSED, State.PASSED]
    assert verdict.state is State.REFUSED
    named = [right for reason in verdict.reasons for right in rights_in(reason)]
    assert sorted(named) == sorted((each.verb, each.group, each.resource) for each in ROLE)
    with pytest.raises(Refusal) as caught:
        bare_room.set_image()
    assert caught.value.verdict.reasons[0].code == "kubernetes_rights"
    assert 'resources: ["statefulsets"], verbs: ["get"]' in str(caught.value)
    bare_room.grant()
    assert missing_rights(bare_room.upgrader, bare_room.namespace, ROLE).reasons == ()


def rights_in(reason: Reason) -> list[tuple[str, str, str]]:
    """Verb, group and resource of each right in the rules that a remedy gives."""
    rules = yaml.safe_load(f"[{reason.remedy.partition(': ')[2].removesuffix('.')}]")
    return [(verb, rule["apiGroups"][0], rule["resources"][0]) for rule in rules for verb in rule["verbs"]]


def test_somebody_writes_between_the_look_and_the_patch(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guarded patch is made on fresh state or not at all."""
    room.up()
    monkeypatch.setattr(pool_image, "get_stateful_set", written_after_the_look(room, ENDLESS))
    with pytest.raises(Conflict):
        room.set_image()
    assert image_of(room.json()) == OLD
    assert room.json()["metadata"]["annotations"] == {"writes": str(ATTEMPTS)}

    writes = ATTEMPTS - 1
    monkeypatch.setattr(pool_image, "get_stateful_set", written_after_the_look(room, writes))
    assert room.set_image().changed
    assert image_of(room.json()) == NEW
    assert room.json()["metadata"]["annotations"]["writes"] == str(writes)


def written_after_the_look(room: Room, writes: int) -> Callable[[KubernetesClient, str, str], StatefulSet]:
    """The look of the module; after each of the first looks someone else writes."""
    looks = 0

    def look(client: KubernetesClient, namespace: str, name: str) -> StatefulSet:
        nonlocal looks
        seen = get_stateful_set(client, namespace, name)
        looks += 1
        if looks <= writes:
            room.change({"metadata": {"annotations": {"writes": str(looks)}}})
        return seen

    return look
