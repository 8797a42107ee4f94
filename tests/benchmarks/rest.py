"""Plain HTTP to a cluster, and the one way in which the benchmark's own procedures wait."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from tests.lab.errors import LabError

Found = TypeVar("Found")
INTERVAL = 0.2
"""Seconds between two looks."""
PATIENCE = 300.0
"""Seconds after which a step has failed; nothing is judged by time."""


class NoAnswer(Exception):
    """A request got no answer, or not the one that was asked for."""


@dataclass(frozen=True)
class Rest:
    """One address of a cluster."""

    url: str

    def ask(self, path: str, method: str = "GET", body: Any = None, *, timeout: float = 40.0) -> Any:
        """The answer, from JSON, to one request that is not repeated.

        Raises:
            NoAnswer: there is none, or it is an error.
        """
        data = json.dumps(body).encode() if body is not None else None
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)  # noqa: S310 - the lab's own http address
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:  # noqa: S310
                return json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise NoAnswer(f"{method} {path}: {error}") from error

    def insist(self, path: str, method: str = "GET", body: Any = None) -> Any:
        """The answer, asked for again while there is none.

        Raises:
            LabError: there was none for too long.
        """
        return poll(f"An answer to {method} {path}", lambda: (self.ask(path, method, body),))[0]


def poll(what: str, look: Callable[[], Found]) -> Found:
    """Look until what is found is truthy, and give it; no answer is looked for again.

    Raises:
        LabError: it was not found in time.
    """
    deadline, last = time.monotonic() + PATIENCE, "nothing"
    while time.monotonic() < deadline:
        try:
            if found := look():
                return found
        except NoAnswer as error:
            last = str(error)
        time.sleep(INTERVAL)
    raise LabError(f"{what} was not had within {PATIENCE:.0f} s (last: {last})")
