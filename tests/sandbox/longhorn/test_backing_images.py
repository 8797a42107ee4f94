"""Backing images of the v2 data engine, which Longhorn 1.12 has removed."""

from __future__ import annotations

import pytest

from tests.sandbox.kubernetes.objects import Refused
from tests.sandbox.kubernetes.resources import Writing
from tests.sandbox.longhorn.asking import PLACES, built, replaced, replica_on, spread, told
from tests.sandbox.longhorn.building import backing_image_object
from tests.sandbox.longhorn.description import Machine
from tests.sandbox.longhorn.kinds import BACKING_IMAGES, NAMESPACE


def copies(found: object, node: str) -> list[str]:
    """The states of the copies that the instance manager of a Kubernetes node shows."""
    return [each["state"] for each in found.manager(node)["status"].get("backingImages", {}).values()]  # type: ignore[attr-defined]


def test_a_replica_with_a_backing_image_never_starts_again_in_another_instance_manager() -> None:
    found = built(spread(backing="golden"))
    assert (told(found), copies(found, "n2")) == (("attached", "healthy"), ["ready"])
    replaced(found, "n2")
    assert copies(found, "n2") == []
    assert not found.until(lambda: replica_on(found, "n2")["status"]["currentState"] == "running", 3600)
    assert told(found) == ("attached", "degraded")
    states = {each["state"] for each in found.get(BACKING_IMAGES, "golden")["status"]["diskFileStatusMap"].values()}
    assert states == {"ready", "unknown"}


def test_a_copy_that_was_being_made_is_shown_as_such_for_ever() -> None:
    found = built(spread(), machines=(Machine("n1", copying="golden"), *map(Machine, PLACES[1:])))
    found.clock.advance(36_000)
    assert copies(found, "n1") == ["in-progress"]


def test_no_backing_image_of_the_v2_data_engine_is_made() -> None:
    found = built(spread())
    with pytest.raises(Refused, match="v2 backing image is not supported"):
        found.kubernetes.server.resources.create(
            BACKING_IMAGES, NAMESPACE, backing_image_object("golden"), Writing("kubectl", strict="Strict")
        )
