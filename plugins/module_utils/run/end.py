"""The end of a run, judged once from the results of its tasks: for the record, the notice, the statistics and people.

Pure.

The last gate comes before the settings of the run are put back, because recoveries are faster with them. A run that is
killed there leaves them behind with their undo, as anywhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..common.verdict import Reason, remark, sentence_of, waiting
from ..common.words import unique
from .record.phases import Deed, UpgradeEvent
from .start.schedule import WINDOW_OVER

Result = Mapping[str, Any]
"""The result of a task; empty if it was not reached."""

STOPPED_BY_REQUEST = "stopped_by_request"
"""The code of a run that was asked to stop."""
NEXT_HOP = "next_hop"
"""The code of a run that has done one hop of an upgrade over several versions."""
NOTICES = {
    UpgradeEvent.COMPLETED: "completed",
    UpgradeEvent.PAUSED: "paused",
    UpgradeEvent.STOPPED: "failed",
    UpgradeEvent.FAILED: "failed",
    UpgradeEvent.ABORTED: "cancelled",
}
"""The state that a notice and the request have for each end of a run."""
LAST_WORDS = {
    UpgradeEvent.STOPPED: "The {} has failed. The lines above say why, and what to do.",
    UpgradeEvent.FAILED: "The {} has missed its window. The lines above have its state and the next step.",
    UpgradeEvent.ABORTED: "The {} was aborted on request. The lines above have its state and the next step.",
}
"""The message with which the play fails."""


def next_hop(hop: Result) -> Reason:
    """The reason to continue with the next hop after this one, as the plan has it."""
    done = f"Hop {hop['number']} of {hop['of']} is done: every member runs {hop['version']}."
    return waiting(NEXT_HOP, f"{done} The next one leads to {hop['following']}.", "Run again if it does not follow.")


@dataclass(frozen=True)
class RunResults:
    """The results of the tasks of a run."""

    failure: Result = field(default_factory=dict)
    """The failure that has stopped the batches: its `batch`, `task`, `message` and `codes`."""
    waiting: Sequence[Result] = ()
    """The reasons why no further batch was started."""
    gate: Result = field(default_factory=dict)
    """The result of the last gate, which proves the whole."""
    put_back: Sequence[Result] = ()
    """The tasks that put everything back."""
    silences: Result = field(default_factory=dict)
    """The result of ending the silences. They also end by themselves, so this never fails a run."""
    own_failures: Sequence[str] = ()
    """Sentences about the user's tasks or steps that failed after the last batch."""
    own_codes: Sequence[str] = ()
    added: str = ""
    """The capacity that was added for the time of the upgrade, in words."""
    ended: Result = field(default_factory=dict)
    """The task that has recorded the end and given the lock back."""
    deed: Deed = Deed.UPGRADE


@dataclass(frozen=True)
class End:
    """The end of a run."""

    found: RunResults

    @property
    def not_put_back(self) -> list[str]:
        """A sentence for each change that could not be put back."""
        return unique(str(each["msg"]) for each in self.found.put_back if each.get("msg"))

    @property
    def acts(self) -> list[Result]:
        """The acts of putting back."""
        return [act for each in self.found.put_back for act in each.get("actions", ())]

    @property
    def stays(self) -> list[Result]:
        """The remarks of putting back on what stays as it is, and the reasons that it waits for."""
        return unique(one for one in self._of_putting_back() if one["state"] != "refused")

    @property
    def failures(self) -> list[str]:
        """A sentence for each failure, once: an API that is out of reach fails several tasks."""
        failure, gate = self.found.failure, self.found.gate
        message = str(failure.get("message", ""))
        stopped = [f"Stopped at {failure['batch']} ({failure['task']}): {message}"] if failure else []
        others = [each for each in self.not_put_back if each not in message]
        gated = [str(gate["msg"])] if gate.get("msg") else []
        return unique([*stopped, *others, *gated, *self.found.own_failures])

    @property
    def waiting(self) -> list[Result]:
        """The reasons that the run waits for."""
        reasons = [*self.found.waiting, *self.stays, *_reasons(self.found.gate)]
        return unique(one for one in reasons if one["state"] == "waiting")

    @property
    def refused(self) -> list[str]:
        """The codes of the failures."""
        reasons = [*self._of_putting_back(), *_reasons(self.found.gate)]
        codes = [*self.found.failure.get("codes", ()), *(one["code"] for one in reasons if one["state"] == "refused")]
        return unique([*codes, *(self.found.own_codes if self.found.own_failures else ())])

    @property
    def codes(self) -> list[str]:
        """The codes of the failures; without any, those of the reasons to wait."""
        return self.refused or unique(one["code"] for one in self.waiting)

    @property
    def event(self) -> UpgradeEvent:
        """The end in the words of the record."""
        if not self.failures:
            return UpgradeEvent.PAUSED if self.waiting else UpgradeEvent.COMPLETED
        if WINDOW_OVER in self.found.failure.get("codes", ()):
            return UpgradeEvent.FAILED
        return UpgradeEvent.ABORTED if STOPPED_BY_REQUEST in self.refused else UpgradeEvent.STOPPED

    @property
    def summary(self) -> str:
        """The causes of the end, one a line; empty if all is well."""
        return "\n".join(self.failures or [str(one["message"]) for one in self.waiting])

    @property
    def proven(self) -> bool:
        """Whether the whole was proven. A run that waits for its next one skips the last gate, and proves nothing."""
        failure, gate = self.found.failure, self.found.gate
        return bool(gate) and not (failure or gate.get("msg") or gate.get("skipped"))

    def recorded(self) -> dict[str, Any]:
        """The options with which the module of the system records the end."""
        gate = self.found.gate
        waited = [one for each in (gate, *self.found.put_back) for one in each.get("waited", ())]
        own = {"event": self.event.value, "summary": self.summary, "codes": self.codes, "acts": self.acts}
        known = {"health": (gate.get("before") or {}).get("status"), "green_seconds": gate.get("green_seconds")}
        return {**own, "waited": waited, **{name: value for name, value in known.items() if value is not None}}

    def statistics(self) -> dict[str, Any]:
        """The statistics of the run for Ansible."""
        failures, waiting = self._all_failures(), self.waiting
        ended = [one["code"] for one in _reasons(self.found.ended) if one["state"] == "refused"]
        return {
            "upgrade_state": "refused" if failures else "waiting" if waiting else "done",
            "upgrade_waiting_for": [] if failures else [str(one["message"]) for one in waiting],
            "upgrade_reasons": unique([*self.refused, *ended] if failures else [one["code"] for one in waiting]),
            "upgrade_cause": " ".join(failures),
        }

    def shown(self) -> dict[str, Any]:
        """The facts of the end for the part `tell`, without the record, which may be long."""
        passed = [one for each in (self.found.gate, self.found.ended) for one in _reasons(each)]
        added = self.found.added if self.event is not UpgradeEvent.COMPLETED else ""
        said = f"Until the upgrade is completed, aborted or settled, this stays: {added}."
        capacity = [remark("capacity_stays", said).as_result()] if added else []
        remarks = [*capacity, *(one for one in passed if one["state"] == "passed")]
        failures = self._all_failures()
        event = self.event if self.failures or not failures else UpgradeEvent.STOPPED
        return {
            "failures": failures,
            "failed": bool(self.found.failure),
            "aborted": self.event is UpgradeEvent.ABORTED,
            "not_put_back": bool(self.not_put_back),
            "remains": any(one["state"] == "passed" for one in self.stays),
            "waiting": self.waiting,
            "remarks": [*self.stays, *remarks],
            "last_words": LAST_WORDS[event].format(self.found.deed.value) if failures else "",
        }

    def as_result(self) -> dict[str, Any]:
        """Plain data, with the words of each reader."""
        return {
            "event": self.event.value,
            "state": NOTICES[self.event],
            "summary": self.summary,
            "codes": self.codes,
            "well": self.event is UpgradeEvent.COMPLETED,
            "proven": self.proven,
            "recorded": self.recorded(),
            "shown": self.shown(),
            "statistics": self.statistics(),
            "not_put_back": self.not_put_back,
            "acts": self.acts,
            "stays": [sentence_of(one) for one in self.stays],
        }

    def _all_failures(self) -> list[str]:
        """The failures, including that the end could not be recorded or the lock not given back."""
        message = self.found.ended.get("msg")
        return unique([*self.failures, *([str(message)] if message else [])])

    def _of_putting_back(self) -> list[Result]:
        return [one for each in (*self.found.put_back, self.found.silences) for one in _reasons(each)]


def _reasons(result: Result) -> Iterable[Result]:
    return (result.get("verdict") or {}).get("reasons") or ()
