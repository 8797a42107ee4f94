"""UpgradeTasks of the service that are complete: the last ones of each owner are kept, and older ones deleted."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from extensions.cluster_api.cluster_api_extension import serving
from extensions.cluster_api.cluster_api_extension.kubernetes_api import Unanswered
from extensions.cluster_api.cluster_api_extension.policy import ExternalRule
from extensions.cluster_api.cluster_api_extension.serving import keep_house
from tests.sandbox.kubernetes.objects import Json
from tests.unit.cluster_api.test_external import request
from tests.unit.cluster_api.test_external_task import Place, inside

VERSIONS = [f"v1.36.{number}" for number in range(5)]
LABEL = "upgrade.stateful/made-by"


async def completed(place: Place, version: str, names: tuple[str, ...] = ("one", "two")) -> str:
    """Ask for a version, and complete it; the result is the name of the UpgradeTask."""
    before = set(place.management.upgrade_tasks())
    assert (await place.ask(request(version, names=names)))[0] == "Accept"
    (name,) = set(place.management.upgrade_tasks()) - before
    place.answered(name, phase="Complete")
    place.management.clock.advance(5)
    return name


def left(place: Place) -> list[str]:
    """The versions of those that are there, the oldest first."""
    found = sorted(place.management.upgrade_tasks().values(), key=lambda each: each["metadata"]["creationTimestamp"])
    return [each["spec"]["newMachineSpec"]["version"] for each in found]


@pytest.mark.parametrize(("kept", "deleted"), [(1, 4), (3, 2), (5, 0)])
def test_the_last_complete_ones_of_an_owner_are_kept(kept: int, deleted: int) -> None:
    async def body(place: Place) -> None:
        for version in VERSIONS:
            await completed(place, version)
        assert await place.store.upgrade_tasks.sweep(kept) == deleted
        assert left(place) == VERSIONS[deleted:]
        assert await place.store.upgrade_tasks.sweep(kept) == 0
        assert "(Complete)" in (await place.ask(request(VERSIONS[-1])))[1], "the last one still answers its request"

    inside(body)


def test_each_owner_has_its_own_last_ones() -> None:
    async def body(place: Place) -> None:
        place.management.owned("three", "md-1")
        await completed(place, "v1.36.9", ("three",))
        for version in VERSIONS[:2]:
            await completed(place, version)
        assert await place.store.upgrade_tasks.sweep(1) == 1
        assert left(place) == ["v1.36.9", VERSIONS[1]]

    inside(body)


def unlabelled(item: Json) -> None:
    """As a person makes one: without the label of the service."""
    del item["metadata"]["labels"][LABEL]


def aborted(item: Json) -> None:
    item["spec"]["phase"] = "Abort"


@pytest.mark.parametrize(
    ("change", "phase"), [(unlabelled, "Complete"), (aborted, "Abort"), (lambda _item: None, "Ongoing")]
)
def test_one_of_a_person_and_one_that_is_not_complete_stay(change: Any, phase: str) -> None:
    async def body(place: Place) -> None:
        name = await completed(place, VERSIONS[0])
        place.management.change_upgrade_task(name, change)
        place.answered(name, phase=phase)
        kept = place.management.upgrade_tasks()[name]
        for version in VERSIONS[1:3]:
            await completed(place, version)
        assert await place.store.upgrade_tasks.sweep(1) == 1
        assert left(place) == [VERSIONS[0], VERSIONS[2]]
        there = place.management.upgrade_tasks()[name]
        assert there["metadata"]["uid"] == kept["metadata"]["uid"]

    inside(body)


def test_one_that_is_written_at_the_same_time_stays_until_the_next_sweep() -> None:
    async def body(place: Place) -> None:
        for version in VERSIONS[:2]:
            await completed(place, version)
        place.management.server.faults.answer(409, "DELETE", "upgradetasks")
        assert await place.store.upgrade_tasks.sweep(1) == 0
        assert left(place) == VERSIONS[:2]
        assert await place.store.upgrade_tasks.sweep(1) == 1

    inside(body)


def test_without_the_definition_there_is_none() -> None:
    assert asyncio.run(Place(defined=False).store.upgrade_tasks.sweep(1)) == 0


def test_a_missing_right_is_no_sweep() -> None:
    async def body(place: Place) -> None:
        for version in VERSIONS[:2]:
            await completed(place, version)
        place.management.server.faults.answer(403, "DELETE", "upgradetasks")
        with pytest.raises(Unanswered, match=r"DELETE .*/upgradetasks/.* with 403"):
            await place.store.upgrade_tasks.sweep(1)

    inside(body)


class Certificates:
    """Certificates that were not renewed; housekeeping ends at its third look."""

    def __init__(self, stop: asyncio.Event) -> None:
        self.looks, self._stop = 0, stop

    def renew(self) -> bool:
        """See `ServerTls`."""
        self.looks += 1
        if self.looks == 3:
            self._stop.set()
        return False


@pytest.mark.parametrize(("external", "expected"), [(True, VERSIONS[-2:]), (False, VERSIONS)])
def test_housekeeping_deletes_them_if_the_policy_makes_any(
    external: bool, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "SWEEPS", 2)

    async def body(place: Place) -> None:
        for version in VERSIONS:
            await completed(place, version)
        stop = asyncio.Event()
        tls: Any = Certificates(stop)
        await keep_house(tls, place.store, stop, ExternalRule(external, upgrade_tasks_kept=2), None, pause=0.001)
        assert left(place) == expected

    inside(body)
