"""An Alertmanager in memory: its silences, and which alerts they hide.

The rules are those of the server (prometheus/alertmanager, `silence/silence.go`): a silence that is written again under
its id goes on if its matchers and its start are the same, and any other takes the place of one that ends; one that ends
stays known, and a time that has passed is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

from tests.sandbox.clock import Clock
from tests.sandbox.web import Answer, Request

API = "/api/v2"
Json = dict[str, Any]


class Alertmanager:
    """A `Handler`."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.alerts: list[dict[str, str]] = []
        """The labels of the alerts that fire."""
        self._silences: dict[str, Json] = {}
        self._answers: dict[tuple[str, str], Callable[[Request], Answer]] = {
            ("GET", "silences"): lambda _request: Answer(200, self.silences()),
            ("GET", "alerts"): self._found,
            ("POST", "silences"): self._written,
            ("DELETE", "silence"): self._deleted,
        }

    def __call__(self, request: Request) -> Answer:
        """The answer."""
        first, _, _ = request.path.removeprefix(f"{API}/").partition("/")
        answer = self._answers.get((request.method, first))
        return answer(request) if answer else Answer(404, "not found")

    def silences(self) -> list[Json]:
        """All that are known, each with its present state."""
        return [{**each, "status": {"state": self._state(each)}} for each in self._silences.values()]

    def active(self) -> set[str]:
        """The matchers of those that are active, as one text each."""
        return {text_of(each) for each in self.silences() if each["status"]["state"] == "active"}

    def hides(self, labels: dict[str, str]) -> bool:
        """Whether an alert with these labels is hidden now."""
        return any(
            each["status"]["state"] == "active" and all(_matches(one, labels) for one in each["matchers"])
            for each in self.silences()
        )

    def _state(self, silence: Json) -> str:
        if _seconds(silence["endsAt"]) <= self.clock.now():
            return "expired"
        return "pending" if _seconds(silence["startsAt"]) > self.clock.now() + 1 else "active"

    def _found(self, request: Request) -> Answer:
        filters = [_matcher(value) for name, value in request.repeated if name == "filter"]
        return Answer(200, [{"labels": each} for each in self.alerts if all(_matches(one, each) for one in filters)])

    def _written(self, request: Request) -> Answer:
        given: Json = request.body
        if _seconds(given["endsAt"]) <= self.clock.now():
            return Answer(400, "invalid silence: end time is in the past")
        before = self._silences.get(given.get("id", ""))
        if given.get("id") and before is None:
            return Answer(404, "silence not found")
        name = f"silence-{len(self._silences) + 1}"
        if before is not None:
            same = before["matchers"] == given["matchers"] and before["startsAt"] == given["startsAt"]
            if same and self._state(before) != "expired":
                name = before["id"]
            else:
                self._end(before)
        self._silences[name] = {**given, "id": name, "updatedAt": _text(self.clock.now())}
        return Answer(200, {"silenceID": name})

    def _deleted(self, request: Request) -> Answer:
        silence = self._silences.get(request.path.rpartition("/")[2])
        if silence is None:
            return Answer(404, "silence not found")
        if self._state(silence) == "expired":
            return Answer(500, "silence already expired")
        self._end(silence)
        return Answer(200)

    def _end(self, silence: Json) -> None:
        if self._state(silence) != "expired":
            silence |= {"endsAt": _text(self.clock.now()), "updatedAt": _text(self.clock.now())}


def text_of(silence: Json) -> str:
    """The matchers of a silence as one text."""
    return ",".join(f"{each['name']}{'=~' if each['isRegex'] else '='}{each['value']}" for each in silence["matchers"])


def _matcher(text: str) -> Json:
    found = re.fullmatch(r'(\w+)(=~|!~|!=|=)"(.*)"', text)
    assert found is not None, text
    operator = found[2]
    equal, regex = not operator.startswith("!"), operator.endswith("~")
    return {"name": found[1], "value": found[3], "isEqual": equal, "isRegex": regex}


def _matches(matcher: Json, labels: dict[str, str]) -> bool:
    value = labels.get(matcher["name"], "")
    same = re.fullmatch(matcher["value"], value) is not None if matcher["isRegex"] else value == matcher["value"]
    return same is bool(matcher.get("isEqual", True))


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def _text(seconds: float) -> str:
    # Never later than it is: what ends now has ended.
    floored = math.floor(seconds * 1000) / 1000
    return datetime.fromtimestamp(floored, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
