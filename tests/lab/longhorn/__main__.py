"""The process: `python -m tests.lab.longhorn KUBECONFIG DESCRIPTION [webhook]`. It says `ready` when all is there.

The description is the JSON of a `Described`. From then on the process makes each fault that is in a line of a file
next to it (`made …`), and says what the observer sees (`lost …`) and which engines have moved (`moved …`).
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
from tests.lab.longhorn.admission import CONFIGURATIONS, Door
from tests.lab.longhorn.description import read
from tests.lab.longhorn.remote import Remote
from tests.lab.longhorn.requests import ask
from tests.lab.waiting import RealClock
from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json, Kind, Refused, condition_of
from tests.sandbox.longhorn.bringing_up import bring_up
from tests.sandbox.longhorn.controllers.all import Controllers
from tests.sandbox.longhorn.controllers.work import Shared
from tests.sandbox.longhorn.description import Durations
from tests.sandbox.longhorn.faults import Faults
from tests.sandbox.longhorn.kinds import OWN, UNVERIFIED, VOLUMES
from tests.sandbox.longhorn.objects import Objects
from tests.sandbox.longhorn.observer import Observer
from tests.sandbox.longhorn.webhook import Webhook

TICK, TICKS = 0.05, 4
"""Seconds between two passes over what is due, and passes between two looks at the API server."""
FACTOR = 4.0
"""The seconds of Longhorn that pass in one real second."""
BUILT_IN = 120.0
QUICK = Durations(rebuild=4.0)
KINDS = {each.plural: each for each in (*OWN, *UNVERIFIED)}
"""The kinds by the names with which faults are ordered."""


class Elsewhere:
    """The pods and the power of Kubernetes nodes are switched in the lab itself (`lab.faults`)."""

    def _refuse(self, *_: str) -> None:
        raise LabError("Pods and Kubernetes nodes are broken with the faults of the lab.")

    never_ready = node_dead = mend = mend_node = _refuse

    def mend_all(self) -> None:
        """Nothing is broken here."""


class Running:
    """The controllers, whose time goes faster than that of the machine."""

    def __init__(self, remote: Remote, clock: Clock, orders: Path) -> None:
        self._remote, self._clock, self._orders = remote, clock, orders
        self._start, self._began, self._real = clock.now(), time.monotonic(), RealClock()
        self._heeded = 0
        self.faults: Faults | None = None

    def pass_once(self) -> None:
        """Read what has changed, and do what is due. An API server that is away is asked again."""
        try:
            self._remote.look()
            for _tick in range(TICKS):
                passed = FACTOR * (time.monotonic() - self._began)
                self._clock.advance(max(0.0, self._start + passed - self._clock.now()))
                self._real.sleep(TICK)
        except (Refused, urllib3.exceptions.HTTPError) as error:
            print(f"the API server: {error}", file=sys.stderr, flush=True)
            self._real.sleep(TICK)
        self._heed()

    def _heed(self) -> None:
        """Make the faults that were ordered since the last time."""
        if self.faults is None or not self._orders.exists():
            return
        lines = self._orders.read_text().splitlines()
        for line in lines[self._heeded :]:
            name, *values = json.loads(line)
            getattr(self.faults, name)(*[KINDS.get(each, each) for each in values])
            say(f"made {name}")
        self._heeded = len(lines)

    def until(self, what: str, holds: Callable[[], object]) -> None:
        """Go on until a condition is true. Raises LabError."""
        end = time.monotonic() + BUILT_IN
        while not holds():
            if time.monotonic() > end:
                raise LabError(f"{what} of the description did not come to be in {BUILT_IN:g} s.")
            self.pass_once()


class Telling:
    """Says what happens to attached volumes."""

    def __init__(self, objects: Objects, observer: Observer) -> None:
        self._observer = observer
        observer.start()
        self._engines = {each["metadata"]["name"]: _engine_of(each) for each in objects.all(VOLUMES)}
        self._told = 0
        objects.listeners.append(self._seen)

    def _seen(self, kind: Kind, item: Json, gone: bool) -> None:
        for each in self._observer.losses[self._told :]:
            say(f"lost {each.volume}: {each.what} ({each.fault or 'by an act'})")
        self._told = len(self._observer.losses)
        name, engine = item["metadata"]["name"], _engine_of(item)
        if kind == VOLUMES and not gone and engine and self._engines.get(name) != engine:
            self._engines[name] = engine
            say(f"moved {name} to {engine}")


def _engine_of(volume: Json) -> str:
    return str(volume.get("status", {}).get("currentEngineNodeID", ""))


def say(line: str) -> None:
    """Write a line for whoever started the process."""
    print(line, flush=True)


def main(kubeconfig: str, description: str, with_webhook: str = "") -> None:
    """Run until the process is ended."""
    described = read(json.loads(Path(description).read_text()))
    clock = Clock(time.time())
    with config.new_client_from_config(config_file=kubeconfig) as api:
        remote = Remote(api, clock, described.offers)
        objects = Objects(remote)

        def dead(name: str) -> bool:
            node = objects.get(NODES, name)
            return node is None or condition_of(node, "Ready").get("status") != "True"

        controllers, observer = Controllers(Shared(objects, QUICK, dead), described), Observer(objects)
        remote.follow(objects)
        running = Running(remote, clock, Path(description).with_suffix(".faults"))
        bring_up(objects, controllers, described, running.until)
        webhook = Webhook(objects)
        running.faults = Faults(objects, controllers, observer, webhook, Elsewhere())
        if with_webhook:
            ask(api, "POST", CONFIGURATIONS, Door(webhook).configuration())
        Telling(objects, observer)
        say("ready")
        while True:
            running.pass_once()


if __name__ == "__main__":
    main(*sys.argv[1:])
