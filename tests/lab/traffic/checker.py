"""The seeder, which fills the indices before a run, and the checker, which reads every acknowledged document back."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.lab.errors import LabError
from tests.lab.traffic.documents import INDICES, document, index_body, index_of
from tests.lab.traffic.members import Answer, Members, RequestFailed
from tests.lab.traffic.records import Acknowledgement, Log, read
from tests.lab.traffic.report import Loss, loss
from tests.lab.waiting import eventually

_BULK, _CHUNK = 1000, 500
_PATIENCE = 60.0
_RECOVERY = 20.0
_NOT_FOUND = "not found"


async def seed_documents(members: Members, directory: Path, count: int) -> None:
    """Makes the indices, writes the documents by bulk, and waits until every shard has all its copies.

    Raises:
        LabError: the cluster does not become ready within a minute, or refuses.
    """
    for index in INDICES:
        made = await _patient(members, "PUT", f"/{index}", index_body())
        if made.status != 200 and "already_exists" not in made.failure:
            raise LabError(f"The index {index} could not be made ({made.failure}); look into the members' logs.")
    log = Log(directory, Acknowledgement)
    for first in range(0, count, _BULK):
        log.append(*await _bulk(members, range(first, min(first + _BULK, count))))
    log.close()
    await _patient(members, "POST", f"/{','.join(INDICES)}/_refresh")

    async def green() -> bool:
        answer = await _patient(members, "GET", f"/_cluster/health/{','.join(INDICES)}")
        return answer.status == 200 and answer.body["status"] == "green"

    await eventually("a green cluster after seeding", green, _PATIENCE)


async def check_documents(members: Members, directory: Path) -> Loss:
    """Reads back, by id and in real time, every document of the acknowledgement log.

    A document is missing when the cluster says that it is not there, or still cannot say after 20 seconds.

    Raises:
        LabError: no member answers within a minute.
    """
    acknowledged = read(directory, Acknowledgement)
    unreadable = await _read_back(members, acknowledged)

    async def settled() -> bool:
        unclear = [one for one, reason in unreadable.items() if reason != _NOT_FOUND]
        again = await _read_back(members, unclear)
        for one in unclear:
            del unreadable[one]
        unreadable.update(again)
        return all(reason == _NOT_FOUND for reason in unreadable.values())

    with contextlib.suppress(LabError):  # what is unclear for so long is missing, with the cluster's own reason
        await eventually("an answer for every document", settled, _RECOVERY)
    return loss(acknowledged, unreadable)


async def _read_back(members: Members, wanted: Sequence[Acknowledgement]) -> dict[Acknowledgement, str]:
    """Gives the documents that could not be read, each with the reason."""
    unreadable: dict[Acknowledgement, str] = {}
    for first in range(0, len(wanted), _CHUNK):
        chunk = wanted[first : first + _CHUNK]
        documents = [{"_index": one.index, "_id": one.id, "_source": False} for one in chunk]
        answer = await _patient(members, "POST", "/_mget", {"docs": documents})
        unreadable |= _unreadable(chunk, answer)
    return unreadable


def _unreadable(chunk: Sequence[Acknowledgement], answer: Answer) -> dict[Acknowledgement, str]:
    if answer.status != 200:
        return dict.fromkeys(chunk, answer.failure)
    found: dict[Acknowledgement, str] = {}
    for one, item in zip(chunk, answer.body["docs"], strict=True):
        if "error" in item:
            found[one] = item["error"]["type"]
        elif not item["found"]:
            found[one] = _NOT_FOUND
    return found


async def _bulk(members: Members, numbers: range) -> list[Acknowledgement]:
    """Writes documents by bulk and gives those that the cluster acknowledged."""
    lines: list[dict[str, Any]] = []
    for number in numbers:
        lines += [{"index": {"_index": index_of(number), "_id": f"seed-{number}"}}, document(number)]
    answer = await _patient(members, "POST", "/_bulk", "".join(json.dumps(line) + "\n" for line in lines))
    if answer.status != 200 or answer.body["errors"]:
        raise LabError(
            f"The documents {numbers.start} to {numbers.stop - 1} could not be seeded "
            f"({answer.failure if answer.status != 200 else 'some items failed'}); look into the members' logs."
        )
    return [Acknowledgement(item["index"]["_index"], item["index"]["_id"]) for item in answer.body["items"]]


async def _patient(members: Members, method: str, path: str, body: object = None) -> Answer:
    """Asks until a member answers with anything but 503: seeding and checking are not the traffic, they may repeat."""

    async def ask() -> Answer | None:
        try:
            answer = await members.request(method, path, body, timeout=_PATIENCE)
        except RequestFailed:
            return None
        return None if answer.status == 503 else answer

    answer = await eventually(f"an answer to {method} {path}", ask, _PATIENCE)
    assert answer is not None
    return answer
