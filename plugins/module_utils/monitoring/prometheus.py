"""The alerts that Prometheus, or a server with its API, knows at a given time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

from ..common.reading import Json, Unreadable, texts
from .alerts import NAME, Alert, alert_with
from .selectors import Matcher, Selector
from .server import Server


def firing(server: Server, selectors: Sequence[Selector], at: datetime | None = None) -> list[Alert]:
    """The alerts that fire and match one of the selectors, now or at the earlier time `at`.

    Prometheus keeps a series ALERTS for each of them
    (https://prometheus.io/docs/prometheus/latest/configuration/alerting_rules/). It is queried instead of the
    list of alerts, because servers in front of several Prometheus have it too, and it has earlier times.

    Raises:
        Unreachable: there is no answer, or one that cannot be used now.
        Refusal: the server refuses the request.
    """
    query = " or ".join(f'ALERTS{{alertstate="firing",{each.text}}}' for each in selectors)
    asked = [("query", query)] if at is None else [("query", query), ("time", f"{at.timestamp():.3f}")]
    answer = server.get("/api/v1/query", asked)
    with server.understood():
        if answer["data"]["resultType"] != "vector":
            raise Unreadable("is no vector", "resultType")
        _judge_whole(answer)
        return [alert_with(each["metric"]) for each in answer["data"]["result"]]


def _judge_whole(answer: Json) -> None:
    """Check that an answer is whole: a server that queries others reports success even if some gave no answer.

    Prometheus itself warns of the query alone; its words then have this start (util/annotations).

    Raises:
        Unreadable: something is missing.
    """
    said = [each for each in texts(answer, "warnings", ()) if not each.startswith("PromQL ")]
    if said:
        raise Unreadable(f"is incomplete ({'; '.join(said)[:200]})")


def value(server: Server, query: str, at: datetime | None = None) -> float | None:
    """The value of a query now, or at an earlier time; None unless it has exactly one. For errors see `firing`."""
    asked = [("query", query)] if at is None else [("query", query), ("time", f"{at.timestamp():.3f}")]
    answer = server.get("/api/v1/query", asked)
    with server.understood():
        data = answer["data"]
        _judge_whole(answer)
        samples = [data["result"]] if data["resultType"] == "scalar" else [each["value"] for each in data["result"]]
        found = float(samples[0][1]) if len(samples) == 1 else math.nan
    return None if math.isnan(found) else found


def fires(server: Server, name: str) -> bool:
    """Whether the alert of this name fires; for errors see `firing`."""
    return bool(firing(server, [Selector((Matcher(NAME, name),))]))
