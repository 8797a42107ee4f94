"""Flushing the indices of a batch, so that their shards start without replaying the translog.

A flush only makes the restart faster. So each index is flushed once, and a failure is a remark. Only a missing
permission is refused, since it would make every flush of the upgrade fail.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from ...common.errors import Refusal
from ...common.reading import Json, listed, text, within
from ...common.side_by_side import answered
from ...common.task import Task
from ...common.verdict import Reason, remark, waiting
from ...common.words import enumerate_few
from ..observe.answers import reading
from ..observe.client import OpenSearchClient
from ..observe.state import ShardCopy

LONGEST = 300.0
"""Seconds that one request may take, since all data that was not flushed yet is written to disk."""
LINE = 3000
"""The most bytes of names in one request. The servers take a request line of 4,096 bytes (server source,
HttpTransportSettings, `http.max_initial_line_length`)."""

FLUSHED = "flushed"
"""The name of the act in the journal."""


AGAIN_AFTER = 60.0
"""Seconds at a gate after which the batch is flushed again."""


def flush(task: Task, client: OpenSearchClient, indices: Collection[str], way: str = "_flush") -> tuple[Reason, ...]:
    """Flush the indices with shards on the batch, so that they start without replaying the translog.

    System indices are left out if no user may touch them, not even one who may do everything else
    (`plugins.security.system_indices.permission.enabled` of the security plugin). There is no list of them, so all
    indices whose names begin with a dot count, except those behind data streams.

    `way` is the last part of the path (`Product.flush_of`). A synced flush of an index that is written to fails in
    part, and is then reported like any other.

    The result holds the reasons about flushes that failed. After a refused request no further one is sent.

    Raises:
        Refusal: an index may not be flushed. Each shard needs a permission of its own (`indices:admin/flush[s]`); a
            missing one is only named in the answer, whose status is success.
    """
    done, lost, said = 0, dict[str, str](), list[Reason]()
    for names in slices(indices):
        try:
            flushed, failed = _flush_slice(task, client, names, way)
        except Refusal as error:
            if not _is_of_server(error) or _is_denial(error):
                raise
            lost = {"answer": "lost"}
            said.append(_unfinished(names, error.verdict.reasons[0].message))
            break
        done += flushed
        if failed:
            said.append(_unfinished(failed, failed[min(failed)]))
    if done or said:
        task.journal.did(FLUSHED, f"{done} indices", **lost)
    for reason in said:
        task.progress(reason.message)
    return tuple(said)


def slices(indices: Iterable[str]) -> Iterator[list[str]]:
    """The names in parts, each of which fits into a request line."""
    part: list[str] = []
    length = 0
    for name in sorted(indices):
        size = len(quote(name, safe="")) + 1
        if part and length + size > LINE:
            yield part
            part, length = [], 0
        part.append(name)
        length += size
    if part:
        yield part


def _flush_slice(task: Task, client: OpenSearchClient, names: Collection[str], way: str) -> tuple[int, dict[str, str]]:
    """The number of these indices that were flushed, and the causes of those that were not."""
    ordinary = {name for name in names if not name.startswith(".") or name.startswith(".ds-")}
    try:
        answer = _flush(task, client, names, way)
    except Refusal as error:
        if not _is_denial(error) or len(ordinary) == len(names):
            raise
        answer, names = _flush(task, client, ordinary, way), ordinary
    forbidden, failed = _failures(answer)
    if kept := sorted(ordinary & forbidden.keys()):
        raise client.denial(f"the flush of {enumerate_few(kept)}: {forbidden[kept[0]]}")
    return len({*names} - forbidden.keys() - failed.keys()), failed


def _flush(task: Task, client: OpenSearchClient, names: Collection[str], way: str) -> Mapping[str, Any]:
    if not names:
        return {}
    task.still_wanted()
    target = ",".join(quote(name, safe="") for name in sorted(names))
    # The names have no wildcards; a server with the synced flush does not know hidden indices yet.
    kinds = "open,hidden" if way == "_flush" else "open"
    options = {"expand_wildcards": kinds, "ignore_unavailable": "true"}
    reason = waiting("flushing", f"The flush of {enumerate_few(names)} has not ended.", "It ends by itself.")
    return answered(task, lambda: client.post_once(f"/{target}/{way}", LONGEST, **options), reason)


def _failures(answer: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """The causes by index with a shard that was not flushed: missing permissions, and other causes."""
    with reading("POST /_flush"):
        said = within(answer, "_shards", lambda shards: listed(shards, "failures", _failure, ()), {})
    found: dict[bool, dict[str, str]] = {True: {}, False: {}}
    for index, forbidden, why in said:
        found[forbidden][index] = why
    return found[True], found[False]


def _failure(each: Json) -> tuple[str, bool, str]:
    """The index, whether the user may not flush it, and the cause. An exception may have no message."""
    why = within(each, "reason", lambda reason: text(reason, "reason", "") or text(reason, "type", "no reason given"))
    return text(each, "index"), text(each, "status", "") == "FORBIDDEN", why


def _is_denial(error: Refusal) -> bool:
    return error.verdict.reasons[0].code == "opensearch_rights"


def _is_of_server(error: Refusal) -> bool:
    """Whether the refusal is the server's, and not one of this collection, such as a lost lock."""
    return all(reason.code.startswith("opensearch_") for reason in error.verdict.reasons)


def _unfinished(names: Collection[str], why: str) -> Reason:
    return remark(
        "flush_unfinished",
        f"The flush of {enumerate_few(names)} was not completed: {why.rstrip('.')}. Shards that restart replay more of"
        " their translog; nothing is lost by it.",
    )


def indices_on(members: frozenset[str], copies: Iterable[ShardCopy]) -> set[str]:
    """The indices with copies on these members, except those with a copy that recovers: their flush would wait."""
    recovering = {copy.index for copy in copies if copy.state == "INITIALIZING"}
    return {copy.index for copy in copies if copy.member in members} - recovering
