"""Watches a cluster through an upgrade: which members it has, and whether it may allocate. Its requests are cheap."""

from __future__ import annotations

import contextlib
import threading
import time
from types import TracebackType
from typing import Any

from tests.benchmarks.phases import Look
from tests.benchmarks.rest import INTERVAL, NoAnswer, Rest
from tests.lab.waiting import until

_LIMIT = "cluster_manager_timeout=1s"
_MEMBERS = f"/_cluster/state/nodes?{_LIMIT}&filter_path=nodes.*.name,nodes.*.ephemeral_id"
_SETTINGS = f"/_cluster/settings?flat_settings=true&{_LIMIT}"
_ENABLE = "cluster.routing.allocation.enable"
_TIMEOUT = 2.0


class Watch:
    """Looks five times a second, in a thread of its own, for the length of a block."""

    def __init__(self, rest: Rest) -> None:
        self.looks: list[Look] = []
        self._rest = rest
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="watch")

    def __enter__(self) -> Watch:
        self._thread.start()
        until("The first look of the watch", lambda: self.looks, 30)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.is_set():
            with contextlib.suppress(NoAnswer):  # no answer; the next look may get one
                self.looks.append(self._look())
            self._ended.wait(INTERVAL)

    def _look(self) -> Look:
        nodes = self._rest.ask(_MEMBERS, timeout=_TIMEOUT)["nodes"]
        settings = self._rest.ask(_SETTINGS, timeout=_TIMEOUT)
        members = {node["name"]: node["ephemeral_id"] for node in nodes.values()}
        return Look(time.monotonic(), members, _restricted(settings))


def _restricted(settings: dict[str, Any]) -> bool:
    """Whether allocation is limited; transient hides persistent."""
    enable = settings["transient"].get(_ENABLE) or settings["persistent"].get(_ENABLE) or "all"
    return bool(enable != "all")
