"""A Kubernetes with its clusters and the controller that upgrades them, in one process, on one virtual clock."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import urllib3

from tests.lab.opensearch.layouts import three_combined
from tests.runs import chosen
from tests.runs.calling import Calling
from tests.runs.prepared import Time
from tests.runs.turns import Killed, Turns
from tests.sandbox.paces import QUICK, Paces
from tests.sandbox.sandbox import Sandbox
from tests.sandbox.web import Request
from tests.scenarios.cluster import Cluster
from tests.scenarios.playbook import PLAN, PLAYBOOK, Played, digest_in, without_images

ASKING = ("GET", "HEAD")
Driver = Callable[..., Played]
"""A function that runs a playbook with variables, such as `tests.runs.chosen.play`."""
REVIEWS = "/apis/authorization.k8s.io/"
"""A POST there is a question."""


class CalledCluster(Cluster):
    """A cluster that its test asks without a socket, too."""

    @cached_property
    def url(self) -> str:
        """See `Cluster`. It stays the same."""
        return f"http://{self.address}"

    def open(self, request: Any) -> Any:
        """See `Cluster`."""
        asked = {"body": request.data, "headers": dict(request.headers), "preload_content": False}
        return urllib3.PoolManager().request(request.get_method(), request.full_url, **asked)


@dataclass
class World:
    """The servers, and what controllers have asked of them."""

    sandbox: Sandbox
    calling: Calling
    driver: Driver = chosen.play
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def cluster(self, version: str, layout: Any = three_combined, **options: Any) -> CalledCluster:
        """A cluster that is green, in a namespace of its own."""
        cluster = CalledCluster(self.sandbox, f"runs-{next(self._numbers)}")
        cluster.rise(layout, version, **options)
        return cluster

    def storage_class(self, name: str = "lab", **own: Any) -> None:
        """Make a StorageClass whose claims may grow, once their pods restart."""
        default = {"storageclass.kubernetes.io/is-default-class": json.dumps(name == "lab")}
        body = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": name, "annotations": default},
            "provisioner": "stateful.upgrade/sandbox",
            "volumeBindingMode": "WaitForFirstConsumer",
            "allowVolumeExpansion": True,
        }
        self.sandbox.apply([{**body, **own}])

    def play(self, playbook: str, variables: Mapping[str, Any], *more: str) -> Played:
        """A run of a playbook, to its end."""
        return self.driver(playbook, variables, *more)

    def later(self, seconds: float) -> None:
        """Let virtual time pass between two runs."""
        self.sandbox.clock.sleep(seconds)

    def passes(self, playbook: str, given: Mapping[str, Any], most: int) -> Iterator[None]:
        """Single passes, five minutes apart, until the upgrade is done or `most` are over. A step is between two."""
        for _pass in range(most):
            ended = self.play(playbook, given)
            assert ended.code == 0, ended.output
            if '"upgrade_state": "done"' in ended.output:
                return
            yield
            self.later(300)

    def confirmed(self, variables: Mapping[str, Any]) -> dict[str, Any]:
        """The variables with consent to the present plan."""
        planned = self.play(PLAN, without_images(variables))
        return {**variables, "upgrade_confirm": digest_in(planned)}

    def acts(self) -> list[tuple[str, str]]:
        """Method and path of the requests that change something, in their order."""
        return [each for each in self.calling.answered if is_act(*each)]

    @contextmanager
    def killing_behind(self, number: int) -> Iterator[None]:
        """Until the block ends, a run is killed when its act of this number was done, before the answer."""
        before, left = self.calling.after, number

        def count(request: Request) -> None:
            nonlocal left
            before(request)
            left -= is_act(request.method, request.path)
            if left == 0:
                raise Killed

        self.calling.after = count
        try:
            yield
        finally:
            self.calling.after = before

    def killed_behind(self, number: int, variables: Mapping[str, Any], playbook: str = PLAYBOOK) -> Played | None:
        """A run that is killed when its act of this number was done, before the answer; its end if it comes first."""
        with self.killing_behind(number):
            try:
                return self.play(playbook, variables)
            except Killed:
                return None


def is_act(method: str, path: str) -> bool:
    """Whether a request changes something."""
    return method not in ASKING and not path.startswith(REVIEWS)


@contextmanager
def world(driver: Driver = chosen.play, start: float | None = None, paces: Paces = QUICK) -> Iterator[World]:
    """A world with nothing in it, whose playbooks are run by this driver. This process follows its clock, which is
    at `start` or at the real time. `paces` is the time that its servers take."""
    callings: list[Calling] = []

    def called(clock: Any, _factor: float) -> Any:
        callings.append(Calling(clock))
        return callings[0]

    with Sandbox(listening=called, start=start, paces=paces) as sandbox:
        before, Time.clock = Time.clock, Turns(sandbox.clock)
        try:
            yield World(sandbox, callings[0], driver)
        finally:
            Time.clock = before
