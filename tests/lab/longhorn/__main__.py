# SPDX-License-Identifier: GPL-3.0-or-later
"""The process: `python -m tests.lab.longhorn KUBECONFIG DESCRIPTION`; it says `ready` when all is as described.

The description is the JSON of a `Described`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import urllib3
from kubernetes import config

from tests.lab.errors import LabError
from tests.lab.longhorn.description import read
from tests.lab.longhorn.remote import Remote
from tests.lab.waiting import RealClock
from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Refused, condition_of
from tests.sandbox.longhorn.bringing_up import bring_up
from tests.sandbox.longhorn.controllers.all import Controllers
from tests.sandbox.longhorn.controllers.work import Shared
from tests.sandbox.longhorn.description import Durations
from tests.sandbox.longhorn.objects import Objects

INTERVAL = 0.2
"""Seconds between two looks at the API server."""
BUILT_IN = 120.0


class Running:
    """The controllers, driven by the time of the machine."""

    def __init__(self, remote: Remote, clock: Clock) -> None:
        self._remote, self._clock = remote, clock
        self._real = RealClock()

    def pass_once(self) -> None:
        """Hear what has changed, and do what is due. An API server that is away is asked again."""
        try:
            self._remote.look()
            self._clock.advance(max(0.0, time.time() - self._clock.now()))
        except (Refused, urllib3.exceptions.HTTPError) as error:
            print(f"the API server: {error}", file=sys.stderr, flush=True)
        self._real.sleep(INTERVAL)

    def until(self, what: str, holds: Callable[[], object]) -> None:
        """Go on until something is so. Raises LabError."""
        end = time.monotonic() + BUILT_IN
        while not holds():
            if time.monotonic() > end:
                raise LabError(f"{what} of the description did not come to be in {BUILT_IN:g} s.")
            self.pass_once()


def main(kubeconfig: str, description: str) -> None:
    """Run until somebody ends the process."""
    described = read(json.loads(Path(description).read_text()))
    clock = Clock(time.time())
    with config.new_client_from_config(config_file=kubeconfig) as api:
        remote = Remote(api, clock, described.offers)
        objects = Objects(remote)

        def dead(name: str) -> bool:
            node = objects.get(NODES, name)
            return node is None or condition_of(node, "Ready").get("status") != "True"

        controllers = Controllers(Shared(objects, Durations(rebuild=2.0), dead), described.offers)
        remote.follow(objects)
        running = Running(remote, clock)
        bring_up(objects, controllers, described, running.until)
        print("ready", flush=True)
        while True:
            running.pass_once()


if __name__ == "__main__":
    main(*sys.argv[1:])
