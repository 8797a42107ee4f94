"""A consent to a restart covers one request once: what is wanted, how, in which order, and since when. Pure.

An upgrade is over when all members run its version. A restart leaves no such trace, so the last request is noted in a
free setting of the cluster, which outlives pods, records and controllers. The digest of a plan covers the digest of
the request before it. So the same words are another request once that was carried out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

from ...common.errors import refusal
from ...common.reading import Unreadable, text, texts
from ...common.verdict import Reason, as_verdict, remark
from ...opensearch.observe.settings import Settings
from ...run.undo.undo import UNREADABLE

REQUEST = "cluster.metadata.stateful_upgrade.restart_request"
"""The setting of the cluster that holds the note."""

Batches = Sequence[Mapping[str, Any]]
Note = TypeVar("Note")


@dataclass(frozen=True)
class Carried:
    """The request that the last restart of a cluster has begun to carry out."""

    digest: str
    """The digest of its plan, which was agreed to."""
    base: str
    """The digest of what was wanted alone, which is the same when it is wanted again."""
    replaced: tuple[str, ...] = ()
    """The members whose pods it replaces. No other one is replaced by the same consent."""
    completed: str = ""
    """The time at which it was completed; empty before."""
    scheduled: tuple[str, ...] = ()
    """The members that people had scheduled then."""
    members: tuple[str, ...] = ()
    """All its members; none in the notes of earlier versions."""
    left: tuple[str, ...] = ()
    """The members that an interrupted run before it had marked, and that were left when it was completed."""

    def ended(self, at: str, marked: Collection[str]) -> Carried | None:
        """The note once the run has ended, with these members still marked; None if its own request is not complete.

        A run that was limited to some members leaves those of an interrupted one.
        """
        over = not self.completed and (not marked or (self.members and not {*marked} & {*self.members}))
        return replace(self, completed=at, left=tuple(sorted(marked))) if over else None

    def text(self, cluster: str) -> str:
        """The note as the cluster with this UUID carries it."""
        return json.dumps({"cluster": cluster, **asdict(self)})


def carried_in(settings: Settings, cluster: str) -> Carried | None:
    """The request that the cluster with this UUID carries, see `note_in`."""

    def read(note: Any) -> Carried:
        return Carried(
            text(note, "digest"),
            text(note, "base"),
            texts(note, "replaced"),
            text(note, "completed", ""),
            texts(note, "scheduled", ()),
            texts(note, "members", ()),
            texts(note, "left", ()),
        )

    return note_in(settings, REQUEST, cluster, read, "the last restart", "Set it to null, and look at the new plan.")


def note_in(
    settings: Settings, setting: str, cluster: str, read: Callable[[Any], Note], of: str, remedy: str
) -> Note | None:
    """The note that the cluster with this UUID carries, if any. One that came with a snapshot of another is none.

    Raises:
        Refusal: it carries one that cannot be read.
    """
    found = settings.persistent.get(setting)
    if found is None:
        return None
    try:
        note = json.loads(found)
        carried = read(note)
        return carried if text(note, "cluster") == cluster else None
    except (Unreadable, *UNREADABLE) as error:
        raise refusal(
            "restart_note_unreadable",
            f"The cluster setting {setting} holds a note of {of} that cannot be read ({type(error).__name__}).",
            remedy,
        ) from error


def request_of_plan(
    base: str, batches: Batches, last: Carried | None, *, goes_on: bool, scheduled: Sequence[str] = ()
) -> Carried:
    """The request of a plan, with its digest.

    `base` is the digest of what is wanted, and `scheduled` are the members that people have scheduled.

    `goes_on` says whether anything of the last request is left. If it is the same one it keeps its digest while its
    members become fewer, so that one consent is enough. Another member may have been elected, so that those that are
    left may go in another order.
    """
    replaced = tuple(sorted(name for batch in batches if batch.get("by") == "pod" for name in batch["members"]))
    same = last is not None and goes_on and not last.completed and last.base == base
    if last is not None and same and {*replaced} <= {*last.replaced}:
        return last
    order = [[batch.get("by", ""), *batch["members"]] for batch in batches]
    since, members = last.digest if last else "", tuple(sorted(name for batch in batches for name in batch["members"]))
    digest = f"p{_sum([base, order, since])[:11]}"
    return Carried(digest, base, replaced, scheduled=tuple(scheduled), members=members)


def _sum(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


@as_verdict
def judge_used_up(last: Carried | None, *, used_up: bool) -> Iterator[Reason]:
    """A remark on a consent that was used up."""
    if last is not None and used_up:
        at = f" at {last.completed}" if last.completed else ""
        yield remark(
            "restart_carried_out",
            f"The restart that upgrade_confirm consents to was completed{at}, and a consent covers one restart once.",
            "Leave out upgrade_confirm to see the plan of another restart.",
        )
