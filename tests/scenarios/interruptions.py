"""Runs that are killed and started again at once, and what must be true of all of them together."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ansible_runner
from kubernetes import client

from tests.lab.errors import LabError
from tests.lab.waiting import until
from tests.scenarios.cluster import Cluster, Fingerprint
from tests.scenarios.fault_proxy import Act, FaultProxy, Pattern, Trap, through_proxies
from tests.scenarios.playbook import PATIENCE as PLAYED
from tests.scenarios.playbook import PLAYBOOK, Played, Playing, confirmed, play, without_images

END = 120.0
"""Seconds a controller may take to end after its signal."""
PATIENCE = 45.0
"""Seconds after its signal until a controller that has not ended is killed."""
STOP = 12.0
"""Seconds that a slow member takes to stop."""
CANCEL = 0.2
"""Seconds between two checks of ansible-runner for a cancel: so few that a run does almost nothing in between."""

ENABLE = "cluster.routing.allocation.enable"
EXCLUDE = "cluster.routing.allocation.exclude._name"
REBALANCE = "cluster.routing.rebalance.enable"

Kill = Callable[[Playing], None]

KILLS: Mapping[str, Kill] = {
    "SIGKILL to the controller": lambda run: run.signal(signal.SIGKILL),
    "SIGKILL to its process group": lambda run: run.signal(signal.SIGKILL, group=True),
    "SIGTERM": lambda run: run.signal(signal.SIGTERM),
    "SIGHUP": lambda run: run.signal(signal.SIGHUP, group=True),
    "Ctrl-C": lambda run: run.signal(signal.SIGINT, group=True),
}


def _template(body: Any) -> bool:
    return "template" in (body.get("spec") or {})


def _changes(body: Any, setting: str) -> bool:
    """Whether a request is about the setting, be it to change it or to put it back."""
    return any(setting in values for values in body.values())


def _undo(body: Any) -> str:
    """The undo that a request leaves in the cluster; empty where it leaves none."""
    return body["persistent"]["cluster.metadata.stateful_upgrade.undo"] or ""


ACTS: Mapping[str, Pattern] = {
    "lock": ("POST", r"/leases", lambda body: True),
    "record": ("POST", r"/configmaps", lambda body: True),
    "image": ("PATCH", r"/statefulsets/", _template),
    "flush": ("POST", r"/_flush", lambda body: True),
    "prepare": ("PUT", r"/_cluster/settings", lambda body: _changes(body, REBALANCE) and REBALANCE in _undo(body)),
    "restrict": ("PUT", r"/_cluster/settings", lambda body: _changes(body, ENABLE) and ENABLE in _undo(body)),
    "restore": ("PUT", r"/_cluster/settings", lambda body: _changes(body, ENABLE) and ENABLE not in _undo(body)),
    "delete": ("DELETE", r"/pods/opensearch", lambda body: True),
    "note": ("PATCH", r"/configmaps/", lambda body: True),
    "strategy": ("PATCH", r"/statefulsets/", lambda body: not _template(body)),
    "release": ("DELETE", r"/leases/", lambda body: True),
}
"""Every act of a run, in the order of their first times: method, path, and what else distinguishes it from others."""
DRAIN: Pattern = (
    "PUT",
    r"/_cluster/settings",
    lambda body: _changes(body, EXCLUDE) and EXCLUDE in _undo(body),
)
"""The act that only pools without volumes see."""
VOTING = r"/_cluster/voting_config_exclusions"
MORE_ACTS: Mapping[str, Pattern] = {
    "drain": DRAIN,
    "exclude": ("POST", VOTING, lambda body: True),
    "include": ("DELETE", rf"{VOTING}\?wait_for_removal=false", lambda body: True),
}
"""The acts that not every run makes: the elected manager hands over once in an upgrade."""


@dataclass
class UpgradeRuns:
    """One upgrade of one cluster over all the runs that it took."""

    cluster: Cluster
    variables: Mapping[str, Any]
    environment: Mapping[str, str]
    before: Fingerprint
    proxies: list[FaultProxy] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)

    @classmethod
    def begin(cls, cluster: Cluster, target: str, environment: Mapping[str, str], **inputs: Any) -> UpgradeRuns:
        """Start; consents to the plan once, for all runs."""
        before = cluster.fingerprint()
        variables = confirmed(cluster.variables(target, **inputs), environment)
        return cls(cluster, variables, environment, before)

    def first_to_go(self) -> str:
        """The member that a run takes down before all others."""
        return max(self.before.pods.keys() - {self.cluster.elected()})

    def killed_at(self, act: str, *, after: bool, kill: Kill) -> bool:
        """One run that is killed at an act; whether it came to that act before its end."""
        method, path, holds = {**ACTS, **MORE_ACTS}[act]
        with through_proxies(self.cluster) as proxy:
            run = self._start(proxy)
            trap = Trap(method, path, after, spring=lambda: kill(run), holds=holds, gone=lambda: run.ended)
            proxy.trap = trap
            try:
                until(f"the run to come to {act}, or to its end", lambda: trap.sprung or run.ended, PLAYED)
            finally:
                self._end(run)
            return trap.sprung

    def cancelled_at(self, act: str, directory: Path) -> bool:
        """One run under ansible-runner, as AWX runs it, that is cancelled after an act; gives whether it was."""
        method, path, holds = ACTS[act]
        asked = threading.Event()
        directory.mkdir()
        with through_proxies(self.cluster) as proxy:
            proxy.trap = Trap(method, path, after=True, spring=asked.set, holds=holds)
            self.proxies.append(proxy)
            run = ansible_runner.run(
                private_data_dir=str(directory),
                playbook=PLAYBOOK,
                extravars=without_images({**self.variables, **proxy.variables()}),
                envvars={**self.environment, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
                cancel_callback=asked.is_set,
                settings={"pexpect_timeout": CANCEL},
                quiet=True,
            )
            self.outputs.append(run.stdout.read())
            return proxy.trap.sprung and run.status == "canceled"

    def killed_after(self, seconds: float, kill: Kill) -> bool:
        """One run that is killed after some seconds, wherever it is; whether it had not ended before."""
        with through_proxies(self.cluster) as proxy:
            run = self._start(proxy)
            time.sleep(seconds)
            there = not run.ended
            kill(run)
            self._end(run)
            return there

    def completed(self, **variables: Any) -> Played:
        """One run to its end."""
        with self.running(**variables) as (_proxy, run):
            return run.wait()

    @contextlib.contextmanager
    def running(self, **variables: Any) -> Iterator[tuple[FaultProxy, Playing]]:
        """One run, and all that it sends; it ends with its test."""
        with through_proxies(self.cluster) as proxy:
            run = self._start(proxy, **variables)
            try:
                yield proxy, run
            finally:
                run.signal(signal.SIGKILL, group=True)

    @contextlib.contextmanager
    def slow_first(self, seconds: float = STOP) -> Iterator[str]:
        """The first member to go takes so long to stop that what is asked until then comes before the second."""
        faults, first = self.cluster.platform.faults, self.first_to_go()
        faults.slow_stop(self.cluster.namespace, first, seconds)
        try:
            yield first
        finally:
            faults.mend(self.cluster.namespace, first)

    def beside(self, playbook: str) -> Played:
        """Another playbook of the collection, on the same cluster."""
        return play(playbook, self.cluster.variables("3.8.0"), self.environment)

    def _start(self, proxy: FaultProxy, **more: Any) -> Playing:
        self.proxies.append(proxy)
        variables = {**without_images({**self.variables, **proxy.variables()}), **more}
        return Playing(PLAYBOOK, variables, self.environment)

    def _end(self, run: Playing) -> None:
        """The controller ends; its workers may live on, and are left to the next run.

        Ansible waits for ever if the signal has ended a worker that held the lock of their queue (`cleanup` of its
        strategy, seen on 2.19). It is killed then.
        """
        with contextlib.suppress(LabError):
            until("the controller's end", lambda: run.ended, PATIENCE)
        run.signal(signal.SIGKILL, group=True)
        until("the controller's end", lambda: run.ended, END)
        self.outputs.append(run.abandon().output)

    def late_acts(self) -> list[Act]:
        """Acts of a run after a later one had taken the lock."""
        late = []
        for number, proxy in enumerate(self.proxies):
            moved = [_taken(later.acts) for later in self.proxies[number + 1 :]]
            first = min((at for at in moved if at is not None), default=None)
            late += [act for act in proxy.acts if first is not None and act.at > first and act.status is not None]
        return late

    def deleted(self) -> list[str]:
        """The members whose pods the runs deleted, once for each time."""
        done = [act for proxy in self.proxies for act in proxy.acts if act.method == "DELETE" and "/pods/" in act.path]
        return sorted(act.path.rpartition("/")[2] for act in done if act.status is not None and act.status < 300)

    def left_behind(self) -> dict[str, Any]:
        """The parts that are not as before, except the record; empty if there are none."""
        after, left = self.cluster.fingerprint(), {}
        if after.settings != self.before.settings:
            left["settings"] = json.loads(after.settings)
        for name, pool in after.pools.items():
            was = self.before.pools[name]
            same = (pool["spec"]["updateStrategy"], pool["annotations"]) == (
                was["spec"]["updateStrategy"],
                was["annotations"],
            )
            if not same:
                left[name] = pool
        with self.cluster.platform.client() as api:
            leases = client.CoordinationV1Api(api).list_namespaced_lease(self.cluster.namespace).items
        if leases:
            left["leases"] = api.sanitize_for_serialization(leases)
        locks = json.loads(self.cluster.ask("/_component_template"))["component_templates"]
        left.update({each["name"]: each for each in locks if each["name"].startswith("stateful-upgrade")})
        strangers = after.pods.keys() - self.before.pods.keys()
        return {**left, **({"pods": sorted(strangers)} if strangers else {})}


def _taken(acts: Iterable[Act]) -> float | None:
    """The time at which a run took the lock: the first write of a Lease that was answered with success."""
    return next((act.at for act in acts if act.of_lock and act.status is not None and act.status < 300), None)


def named_acts() -> Iterator[tuple[str, bool, str]]:
    """(act, after, name of the kill): every act, before and after it is made, the kills in turn."""
    names = [*KILLS]
    for number, (act, after) in enumerate((act, after) for act in ACTS for after in (False, True)):
        yield act, after, names[number % len(names)]


def conclude(upgrade_runs: UpgradeRuns) -> None:
    """The last run completes the upgrade; no act came late, no member went twice, and nothing is left."""
    concluded(upgrade_runs, upgrade_runs.completed())


def concluded(upgrade_runs: UpgradeRuns, played: Played, target: str = "3.8.0") -> None:
    """Check all that has to hold when the last run has ended."""
    print(f"{len(upgrade_runs.proxies)} runs")
    assert played.code == 0, played.output
    assert upgrade_runs.cluster.health()["status"] == "green"
    assert not upgrade_runs.late_acts()
    upgraded_once(upgrade_runs, target)


def upgraded_once(upgrade_runs: UpgradeRuns, target: str = "3.8.0") -> None:
    """Check that each member went once, and that nothing is left behind."""
    assert set(upgrade_runs.cluster.versions().values()) == {target}
    assert upgrade_runs.deleted() == sorted(upgrade_runs.before.pods)
    assert upgrade_runs.left_behind() == {}


def kill_and_wait(run: Playing) -> None:
    """Kills it and waits for its end, so that a worker which outlives it is an orphan before it hears of its act."""
    KILLS["SIGKILL to its process group"](run)
    until("the controller's end", lambda: run.ended, END)


def until_deleting(proxy: FaultProxy, run: Playing) -> str:
    """The first member that a run takes down, as soon as it does."""

    def deletion() -> str:
        assert not run.ended
        return next((act.path.rpartition("/")[2] for act in proxy.acts if "/pods/" in act.path), "")

    return until("the first deletion", deletion, END)
