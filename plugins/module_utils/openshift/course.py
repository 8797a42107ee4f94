"""The course of an upgrade of OpenShift, as its record shows it: its control plane, its workers, its steps. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..common.release import release_in
from ..run.record.batch_events import late_words
from ..run.record.batches import BatchRecord
from ..run.record.conditions import Condition
from ..run.record.events import EventKind, of_kind
from ..run.record.phases import Phase
from ..run.record.record import Record
from ..run.steps import WINDOWS
from .observe.kinds import MASTER

SILENCES = "silences"
"""The step of a run that holds its silences. Without it there is no maintenance window."""


@dataclass(frozen=True)
class UpgradeCourse:
    """A record, with the questions that the named steps ask. Times are texts, and empty before they have come."""

    record: Record

    @property
    def begun(self) -> str:
        """The time at which its first run took the lock."""
        return self.record.started if self.record.run else ""

    @property
    def is_completed(self) -> bool:
        """Whether all is done and proven."""
        return self.record.phase is Phase.COMPLETED

    @cached_property
    def completed(self) -> str:
        """The time at which it was completed."""
        last = self.record.upgrades[-1:] if self.is_completed else ()
        return next((each.completed for each in last if each.completed), self.record.updated) if last else ""

    @cached_property
    def control_plane(self) -> tuple[BatchRecord, ...]:
        """The batches of the control plane; none if it was upgraded before."""
        return tuple(each for each in self.record.batches if MASTER in each.pools)

    @cached_property
    def workers(self) -> tuple[BatchRecord, ...]:
        """The other batches."""
        return tuple(each for each in self.record.batches if MASTER not in each.pools)

    @cached_property
    def left(self) -> tuple[BatchRecord, ...]:
        """The batches that a completed upgrade has not done: a person has paused their pools, or they are gone."""
        return tuple(each for each in self.record.batches if each.state != "done") if self.is_completed else ()

    @property
    def commenced(self) -> str:
        """The time at which the desired update was set, or was found to be set."""
        whole = [one for each in self.control_plane for one in (*each.tries, each)]
        return _first(each.went for each in whole) or done_at(self.control_plane)

    def late(self, batches: Iterable[BatchRecord]) -> str:
        """Since when the unfinished ones of these batches are late, and what they waited for; empty if none is late."""
        return " ".join(filter(None, (late_words(self.record.events, each) for each in batches)))

    @property
    def rolled(self) -> str:
        """The time at which the last batch was done, if all are, but for those that are left."""
        return self._done_at(self.record.batches) if self.begun else ""

    @property
    def workers_done(self) -> str:
        """The time at which the last batch of workers was done, if all are, but for those that are left."""
        return self._done_at(self.workers)

    def _done_at(self, batches: Sequence[BatchRecord]) -> str:
        return done_at(each for each in batches if each not in self.left) or (self.completed if self.left else "")

    @property
    def has_windows(self) -> bool:
        """Whether its runs hold silences."""
        return any(each.type == SILENCES for each in self.record.conditions)

    @property
    def checked(self) -> str:
        """The time of its start, once a step or a batch shows that all checks of the plan have passed."""
        steps = any(each.type not in WINDOWS for each in self.record.conditions)
        moves = steps or begun_at(self.record.batches) or self.is_completed
        return self.begun if moves else ""

    @property
    def is_minor(self) -> bool:
        """Whether it goes to another minor version."""
        left = self.record.upgrades[-1].preceding if self.record.upgrades else self.record.deployed_version
        before, target = release_in(left), release_in(self.record.target_version)
        return before is not None and target is not None and before.minors_to(target) != 0

    def noticed(self, state: str) -> str:
        """The time of the first notice of a state."""
        notices = of_kind(self.record.events, EventKind.NOTICED)
        return _first(each.at for each in notices if each.about.rpartition("-")[0] == state)

    def conditions(self, *names: str) -> tuple[Condition, ...]:
        """The conditions of these steps of the run, as far as it has them."""
        return tuple(each for each in self.record.conditions if each.type in names)


def begun_at(batches: Iterable[BatchRecord]) -> str:
    """The time at which the first of these batches has begun."""
    return _first(each.begun for each in batches)


def done_at(batches: Iterable[BatchRecord]) -> str:
    """The time at which the last of these batches was done, if all are. A killed run has not noted its last one."""
    whole = tuple(batches)
    if not whole or any(each.state != "done" for each in whole):
        return ""
    return max(each.ended or each.went or each.begun for each in whole)


def _first(times: Iterable[str]) -> str:
    return min(filter(None, times), default="")
