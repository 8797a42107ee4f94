"""All that one run sends to both APIs, seen on the way; a trap springs at an act, before or after it is made."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import re
import ssl
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.lab.errors import LabError
from tests.lab.waiting import until
from tests.scenarios.cluster import USER, Cluster
from tests.scenarios.playbook import Here
from tests.scenarios.reverse_proxy import READING, AnswerLost, Forward, Passing, ReverseProxy

ASKING = re.compile(r"/selfsubjectaccessreviews|dryRun=All")
"""Requests that change nothing although their method could."""
LEASE = re.compile(r"/leases(/|\?|$)")

Pattern = tuple[str, str, Callable[[Any], bool]]
"""The marks of an act: its method, its path, and a condition on its body."""

HELD_UP = 10.0
"""Seconds that a request is held up at the most."""
GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Act:
    """A request that changes something, on the clock of the tests."""

    at: float
    method: str
    path: str
    body: Any
    status: int | None
    """None: it was not handed on."""

    @property
    def of_lock(self) -> bool:
        """Whether it concerns the lock only."""
        return bool(LEASE.search(self.path))


@dataclass
class Trap:
    """Springs once, at the first act that matches; `after` it was made, or before, when it is not handed on at all."""

    method: str
    path: str
    after: bool
    spring: Callable[[], None] = lambda: None
    holds: Callable[[Any], bool] = lambda body: True
    gone: Callable[[], bool] = lambda: True
    """Whether the controller that was killed is gone, so that its workers do not do again what was held up."""
    sprung: bool = False

    def catches(self, passing: Passing, body: Any) -> bool:
        """Whether it springs at this request."""
        return not self.sprung and _is((self.method, self.path, self.holds), passing.method, passing.path, body)


@dataclass
class FaultProxy:
    """The proxies between one run and both APIs."""

    acts: list[Act] = field(default_factory=list)
    trap: Trap | None = None
    kubernetes: str = ""
    opensearch: str = ""
    refuse_every: int = 0
    """One of so many requests is refused, with 429 and with 503 in turn; 0: none is."""
    refuse_writes: bool = False
    """Of the writes to each path the first is refused with 503, then every other one. A client does not repeat them."""
    refused: list[str] = field(default_factory=list)
    """The requests that were refused, in the order of time."""
    loses: Mapping[str, Pattern] = field(default_factory=dict)
    """Acts of which the first that succeeds is never answered: it is made, and the connection ends."""
    lost: list[str] = field(default_factory=list)
    """The acts of `loses` whose answer was lost, in the order of time."""
    _asked: int = 0
    _written: Counter[str] = field(default_factory=Counter)

    def variables(self) -> dict[str, Any]:
        """The variables by which a run goes through here."""
        return {
            "upgrade_kubernetes": {"host": self.kubernetes},
            "upgrade_opensearch": {"hosts": [self.opensearch]},
        }

    async def handle(self, passing: Passing, forward: Forward) -> web.StreamResponse:
        """Note what acts, and spring the trap; refuse and lose what was asked for."""
        status = self.refused_with(passing)
        if status:
            return web.Response(status=status, text="Too busy.")
        if asks(passing):
            return await forward()
        body = _json(passing.body)
        trap = self.caught(passing, body)
        if trap is not None and not trap.after:
            self.note(passing, body, None)
            trap.spring()
            with contextlib.suppress(LabError):  # it may itself wait for the answer to what is held up
                await asyncio.to_thread(until, "the controller's end", trap.gone, HELD_UP)
            raise web.HTTPServiceUnavailable(text="held up")
        answer = await forward()
        self.note(passing, body, answer.status)
        if trap is not None:
            trap.spring()
            await asyncio.sleep(0)
        if answer.status < 300:
            self.lose(passing, body)
        return answer

    def refused_with(self, passing: Passing) -> int:
        """The status with which a request is refused; 0 if it is not."""
        self._asked += 1
        if self.refuse_every and self._asked % self.refuse_every == 0:
            self.refused.append(f"{passing.method} {passing.path}")
            return 429 if len(self.refused) % 2 else 503
        if self.refuse_writes and passing.method not in READING:
            place = f"{passing.method} {passing.path.partition('?')[0]}"
            self._written[place] += 1
            if self._written[place] % 2:
                self.refused.append(place)
                return 503
        return 0

    def caught(self, passing: Passing, body: Any) -> Trap | None:
        """The trap, if it springs at this request."""
        trap = self.trap
        if trap is None or not trap.catches(passing, body):
            return None
        trap.sprung = True
        return trap

    def made(self, patterns: Mapping[str, Pattern]) -> dict[str, int]:
        """The number of times that each act was made with success."""
        done = [act for act in self.acts if act.status is not None and act.status < 300]
        return {
            name: sum(_is(pattern, act.method, act.path, act.body) for act in done)
            for name, pattern in patterns.items()
        }

    def lose(self, passing: Passing, body: Any) -> None:
        """Raise AnswerLost if the answer to this act is one to lose."""
        for name, pattern in self.loses.items():
            if name not in self.lost and _is(pattern, passing.method, passing.path, body):
                self.lost.append(name)
                raise AnswerLost

    def note(self, passing: Passing, body: Any, status: int | None) -> None:
        """Note an act."""
        self.acts.append(Act(time.monotonic(), passing.method, passing.path, body, status))


def asks(passing: Passing) -> bool:
    """Whether a request changes nothing."""
    return passing.method in READING or ASKING.search(passing.path) is not None


def _is(pattern: Pattern, method: str, path: str, body: Any) -> bool:
    wanted, place, holds = pattern
    return method == wanted and re.search(place, path) is not None and holds(body)


def _json(text: bytes) -> Any:
    try:
        return json.loads(gzip.decompress(text) if text.startswith(GZIP) else text) if text else None
    except ValueError:
        return None


@contextlib.contextmanager
def through_proxies(cluster: Cluster) -> Iterator[FaultProxy]:
    """Proxies to a cluster and to the Kubernetes API, as the user with exactly the documented Role."""
    proxy = FaultProxy()
    with cluster.platform.client(USER) as api:
        configuration = api.configuration
        if Here.driver is not None:
            with Here.driver.proxies(proxy, cluster.url, configuration.host, configuration.api_key["BearerToken"]):
                yield proxy
            return
        behind = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
        token = configuration.api_key["BearerToken"]
        with (
            ReverseProxy(configuration.host, proxy.handle, behind=behind, authorization=token) as kubernetes,
            ReverseProxy(cluster.url, proxy.handle) as opensearch,
        ):
            proxy.kubernetes, proxy.opensearch = kubernetes.url, opensearch.url
            yield proxy
