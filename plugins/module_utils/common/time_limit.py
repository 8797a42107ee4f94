# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One limit for the whole of a request: all its attempts, the pauses between them, and an answer that comes in drips.

The timeouts of HTTP libraries count for each read of a socket, so that a server that sends a byte now and then is never
late. Here each read is given only what is left for the request.
"""

from __future__ import annotations

import http.client
import io
import time
from collections.abc import Callable
from typing import Any, cast

from .packages import needed

CONNECTING = 10.0
"""Seconds for a connection to come about, so that another host can be tried within the limit."""


class TimeLimit:
    """The seconds that a request may take. `now` gives seconds on a clock that never goes back."""

    def __init__(self, seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._now = now
        self._end = float("inf")

    def begin(self, seconds: float | None = None) -> None:
        """A request begins; it may take so long, where it is not like the others."""
        self._end = self._now() + (self.seconds if seconds is None else seconds)

    def left(self) -> float:
        """Seconds that are left of the request.

        Raises:
            TimeoutError: none is.
        """
        left = self.seconds_left()
        if left <= 0:
            raise TimeoutError("timed out")
        return left

    def seconds_left(self) -> float:
        """Seconds that are left of the request; none, or less, at its end."""
        return self._end - self._now()


def retrying(limit: TimeLimit, **how: Any) -> Any:
    """Attempts as urllib3 makes them (`how` are the options of its Retry), none of which begins after the limit.

    What the server says of the time to wait (Retry-After) is not obeyed: it may be an hour, and nothing could end the
    wait. Whoever waits for an answer asks again.
    """
    library = needed("urllib3", "urllib3")

    class Retry(library.Retry):  # type: ignore[misc,name-defined]  # known at run time only
        """The attempts that are left."""

        def increment(self, *arguments: Any, **of_failure: Any) -> Any:
            following = super().increment(*arguments, **of_failure)
            if following.get_backoff_time() >= limit.seconds_left():
                cause = of_failure.get("error") or library.exceptions.ResponseError("no time is left to ask again")
                raise library.exceptions.MaxRetryError(of_failure.get("_pool"), "", cause)
            return following

    return Retry(respect_retry_after_header=False, raise_on_status=False, **how)


def limited(base: Any, limit: TimeLimit) -> Any:
    """A class of connections like `base`, of urllib3, whose every step keeps to the limit."""

    class Limited(base):  # type: ignore[misc]  # known at run time only
        """One connection."""

        timeout: Any

        @staticmethod
        def response_class(sock: Any, *arguments: Any, **options: Any) -> http.client.HTTPResponse:
            """What reads an answer; also that of a proxy which is asked for a tunnel."""
            return http.client.HTTPResponse(cast(Any, _Socket(sock, limit)), *arguments, **options)

        def _new_conn(self) -> Any:
            kept, self.timeout = self.timeout, min(limit.left(), CONNECTING)
            try:
                return super()._new_conn()
            finally:
                self.timeout = kept

    return Limited


def limit_pools(manager: Any, limit: TimeLimit) -> None:
    """Make all connections of a pool manager of urllib3 keep to the limit."""
    manager.pool_classes_by_scheme = {
        scheme: type("LimitedPool", (pool,), {"ConnectionCls": limited(pool.ConnectionCls, limit)})
        for scheme, pool in manager.pool_classes_by_scheme.items()
    }


class _Socket:
    """What an HTTP response asks of a socket."""

    def __init__(self, sock: Any, limit: TimeLimit) -> None:
        self._sock = sock
        self._limit = limit

    def makefile(self, _mode: str) -> io.BufferedReader:
        """The answer, read within the limit."""
        return io.BufferedReader(cast(io.RawIOBase, _Reader(self._sock, self._limit)))


class _Reader(io.RawIOBase):
    def __init__(self, sock: Any, limit: TimeLimit) -> None:
        super().__init__()
        self._sock = sock
        self._limit = limit
        # The socket stays open for as long as this file, also where the connection is closed before its answer is read.
        self._file = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(self._limit.left())
        return cast("int | None", self._file.readinto(buffer))

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()
