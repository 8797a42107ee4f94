"""Renews the silences of a run, as its lock is renewed: they last as long as any task of the run looks.

Only the run renews them, so none can outlive it for long. A renewal that fails stops nothing: then people get the
alerts, which is the safe side.
"""

from __future__ import annotations

from ..common.errors import Refusal
from ..common.task import Guard
from ..common.timestamps import utc_now
from ..common.waiting import Clock
from .alertmanager import Alertmanager
from .silences import RENEWALS


class SilenceRenewal:
    """A guard that renews the silences before a look, if the guard below allows that look."""

    def __init__(self, below: Guard, alertmanager: Alertmanager, clock: Clock) -> None:
        self._below = below
        self._alertmanager = alertmanager
        self._clock = clock
        self._asked_at = float("-inf")

    def before_look(self, doing: str, stoppable: bool) -> None:
        """See `Guard`."""
        self._below.before_look(doing, stoppable)
        between = self._alertmanager.duration.total_seconds() / RENEWALS / 2
        if self._clock.now() - self._asked_at < between:
            return
        self._asked_at = self._clock.now()
        try:
            self._alertmanager.renew_due(self._alertmanager.held(), utc_now())
        except Refusal:
            # No upgrade waits for its silences: without them people get the alerts, which is the safe side.
            return

    def before_act(self) -> None:
        """See `Guard`."""
        self._below.before_act()
