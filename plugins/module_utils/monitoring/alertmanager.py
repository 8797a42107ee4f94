"""The Alertmanager: its silences, and the alerts that one would hide."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from ..common.reading import text, whole_part
from ..common.timestamps import timestamp_text
from .alerts import Alert, alert_with
from .selectors import Selector
from .server import Server
from .silences import Silence, comment_of, creator_of, is_due, parse_silence

API = "/api/v2"


class Alertmanager:
    """The silences of one upgrade at one Alertmanager. For the errors of each request see `Server.get`."""

    def __init__(self, server: Server, owner: str, run: str, seconds: int) -> None:
        """Nothing is asked yet. `owner` names the upgrade. A silence lasts `seconds` without being renewed."""
        self._server = server
        self._owner = owner
        self._run = run
        self.duration = timedelta(seconds=seconds)

    def held(self) -> list[Silence]:
        """The silences of the upgrade that are not over."""
        return [each for each in self.known() if not each.is_over]

    def known(self) -> list[Silence]:
        """All silences of the upgrade, including ended ones, which the server forgets after some days."""
        raw = self._server.get(f"{API}/silences")
        with self._server.understood():
            silences = [parse_silence(whole_part(each)) for each in raw]
        return [each for each in silences if each.creator == creator_of(self._owner)]

    def hidden_by(self, selector: Selector) -> list[Alert]:
        """The current alerts that a silence with this selector would hide."""
        filters = [("filter", each.text) for each in selector.matchers]
        raw = self._server.get(f"{API}/alerts", filters)
        with self._server.understood():
            return [alert_with(each["labels"]) for each in raw]

    def make(self, selector: Selector, now: datetime) -> None:
        """Make a silence that lasts from now on."""
        self._write(selector, timestamp_text(now, "milliseconds"), now)

    def renew(self, silence: Silence, now: datetime) -> None:
        """Extend a silence, as one of this run. It continues without a gap, under the same id."""
        self._write(silence.selector, silence.starts, now, {"id": silence.id})

    def renew_due(self, silences: Sequence[Silence], now: datetime) -> list[Silence]:
        """Renew the silences that are due, and return them."""
        due = [each for each in silences if is_due(each, comment_of(self._run), now, self.duration)]
        for each in due:
            self.renew(each, now)
        return due

    def end(self, silence: Silence) -> None:
        """End a silence."""
        self._server.delete(f"{API}/silence/{silence.id}")

    def _write(self, selector: Selector, starts: str, now: datetime, more: dict[str, Any] | None = None) -> None:
        written = self._server.post(
            f"{API}/silences",
            {
                **(more or {}),
                "matchers": [each.as_result() for each in selector.matchers],
                "startsAt": starts,
                "endsAt": timestamp_text(now + self.duration, "milliseconds"),
                "createdBy": creator_of(self._owner),
                "comment": comment_of(self._run),
            },
        )
        with self._server.understood():
            text(whole_part(written), "silenceID")
