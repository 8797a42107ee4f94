"""One time limit for a whole request: all its attempts, the pauses between them, and an answer that arrives slowly.

The timeouts of HTTP libraries count for each read of a socket, so a server that sends a byte now and then never times
out. Here each read gets only the time that is left for the request.
"""

from __future__ import annotations

import http.client
import io
import time
from collections.abc import Callable
from typing import Any, cast

from .packages import needed

CONNECTING = 10.0
"""Seconds to make a connection, so that another host can still be tried within the limit."""


class TimeLimit:
    """The seconds that a request may take. `now` gives seconds on a clock that never goes back."""

    def __init__(self, seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._now = now
        self._end = float("inf")

    def begin(self, seconds: float | None = None) -> None:
        """Start a request. It may take `seconds`, by default as long as every other request."""
        self._end = self._now() + (self.seconds if seconds is None else seconds)

    def left(self) -> float:
        """Seconds that are left of the request.

        Raises:
            TimeoutError: no time is left.
        """
        left = self.seconds_left()
        if left <= 0:
            raise TimeoutError("timed out")
        return left

    def seconds_left(self) -> float:
        """Seconds that are left of the request; zero or less at its end."""
        return self._end - self._now()


def retrying(limit: TimeLimit, **how: Any) -> Any:
    """The Retry of urllib3 with the options `how`, which starts no attempt after the limit.

    The Retry-After of a server is not obeyed: it may be an hour, and nothing could end that wait. A task that waits for
    an answer asks again itself.
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
    """A subclass of `base`, a connection class of urllib3, that obeys the limit in every step."""

    class Limited(base):  # type: ignore[misc]  # known at run time only
        """One connection."""

        timeout: Any

        @staticmethod
        def response_class(sock: Any, *arguments: Any, **options: Any) -> http.client.HTTPResponse:
            """The reader of an answer, including the answer of a proxy that is asked for a tunnel."""
            return http.client.HTTPResponse(cast(Any, _Socket(sock, limit)), *arguments, **options)

        def _new_conn(self) -> Any:
            kept, self.timeout = self.timeout, min(limit.left(), CONNECTING)
            try:
                return super()._new_conn()
            finally:
                self.timeout = kept

    return Limited


def limit_pools(manager: Any, limit: TimeLimit, changed: Callable[[Any], Any] | None = None) -> None:
    """Make all connections of a pool manager of urllib3 obey the limit; `changed`, if given, makes their class."""
    manager.pool_classes_by_scheme = {
        scheme: type(
            "LimitedPool",
            (pool,),
            {"ConnectionCls": limited(changed(pool.ConnectionCls) if changed else pool.ConnectionCls, limit)},
        )
        for scheme, pool in manager.pool_classes_by_scheme.items()
    }


class _Socket:
    """The part of a socket that an HTTP response uses."""

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
        # The socket stays open as long as this file, even if the connection is closed before its answer is read.
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
