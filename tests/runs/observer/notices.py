"""A webhook that takes the notices of runs, and the invariant about them: each state of an upgrade is sent once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.sandbox.web import Answer, Request

HOOK = "/hook"
"""Its path."""
OF_UPGRADE = ("started", "paused", "failed", "completed")
"""The states that an upgrade with a record reaches. Others may be sent before there is a record to know of them."""


class Notices:
    """A `Handler`."""

    def __init__(self) -> None:
        self._sent: list[tuple[str, str]] = []
        """State and key of each notice, in its order."""

    def __call__(self, request: Request) -> Answer:
        """Take it."""
        self._sent.append((request.body["state"], request.headers["Idempotency-Key"]))
        return Answer(200)

    def again(self, kills: int) -> Iterator[str]:
        """The notices that came more than once. One may come again after a kill."""
        for (state, key), count in Counter(self._sent).items():
            if state in OF_UPGRADE and count > 1 + kills:
                yield f"the notice {key} was sent {count} times"

    def of_whole(self, times: int = 1) -> Iterator[str]:
        """The notices that are missing, or too many, once an upgrade is completed.

        Each of the `times` that a request names for its start has notices of its own. One that came again after a kill
        is the same by its key.
        """
        states = Counter(state for state, _key in set(self._sent))
        for state in ("started", "completed"):
            if not 1 <= states[state] <= times:
                yield f"{states[state]} notices say {state}"
