"""The work of runs on machines of kubeadm, and the invariant that none of it is begun again once it has ended well.

The end of a work is kept in a place of its own, which says what a run that follows a killed one may repeat:

- `kubeadm upgrade`: the role member_kubeadm keeps nothing on the machine, since the command changes nothing where all
  is upgraded (`plugins/plugin_utils/kubeadm_steps.py`). So the next run begins it again if a run has ended between it
  and the restart of the kubelet. A run begins none after one of its own that has ended well.
- The restart of the kubelet, which is the last work on a machine: with it the Kubernetes node shows the version, and
  all runs leave the machine out (`turns` of `machines/judge/order.py`). From then on no run begins either of both for
  that version. A kubelet that has started with its machine has the version, too, and may be restarted after that.
- Delegated work: the NodeUpdate has its end. None is made, and no attempt is begun, for work of the same digest.
- An image of the operating system: the agent and the stored plan have the end of its operation. The agent begins none
  for a host configuration of the same digest. It takes the same name once only, so that a run may submit it again.
  While an operation is under way, no run submits another one.

A stored plan that a person has removed to have the work repeated has no end any more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from tests.runs.observer import acts
from tests.runs.turns import OneRun
from tests.sandbox.kubeadm.agent import BEGUN, DONE, REMOVED, Event
from tests.sandbox.kubeadm.machine import Machine
from tests.sandbox.kubeadm.process import Process
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.plain_hosts.jobs import PATH
from tests.sandbox.web import Request

NODE_UPDATES, UPGRADE_TASKS = "nodeupdates", "/upgradetasks/"
PACKAGES = ("apt", "dnf")
COMMANDS = ("apply", "node")
"""The commands of `kubeadm upgrade` that upgrade a machine, if they are no dry run."""


def is_work(request: Request) -> bool:
    """Whether a request changes the cluster or a machine; other modules of a machine look, or fetch.

    An UpgradeTask is answered before its run has the lock, and after that was given back (docs/machines.md, "Upgrade
    tasks").
    """
    if not acts.is_on_host(request):
        return acts.is_act(request) and UPGRADE_TASKS not in request.path
    installs = request.method == "POST" and _module(request) in PACKAGES and bool(_options(request).get("name"))
    return installs or upgrades_by_kubeadm(request) or restarts_kubelet(request) or submits(request)


def upgrades_by_kubeadm(request: Request) -> bool:
    """Whether it starts `kubeadm upgrade` on a machine, wherever the program is, and not as a dry run."""
    argv = _argv(request)
    if "--dry-run" in argv:
        return False
    return any(
        program.rpartition("/")[2] == "kubeadm" and [*rest[:1]] == ["upgrade"] and {*rest[1:2]} <= {*COMMANDS}
        for program, *rest in (argv[place:] for place in range(len(argv)))
    )


def restarts_kubelet(request: Request) -> bool:
    """Whether it restarts the kubelet of a machine."""
    given = _options(request)
    return request.method == "POST" and given.get("name") == "kubelet" and given.get("state") == "restarted"


def submits(request: Request) -> bool:
    """Whether it gives the agent of a machine an operation."""
    return _argv(request)[-1:] == ["submit"]


def _module(request: Request) -> str:
    return request.path.rpartition("/")[2] if acts.is_on_host(request) else ""


def _options(request: Request) -> Mapping[str, object]:
    return request.body if acts.is_on_host(request) and isinstance(request.body, Mapping) else {}


def _argv(request: Request) -> list[str]:
    given = _options(request).get("argv") if request.method == "POST" else None
    return [str(each) for each in given] if isinstance(given, list) else []


class WorkOnMachines:
    """The works that have ended well, over all runs. Each function gives a sentence for each one that is repeated."""

    def __init__(self, machines: Mapping[str, Machine], addresses: Mapping[str, str]) -> None:
        """`addresses` has the address of each machine by its name."""
        self._machines, self._names = machines, {address: name for name, address in addresses.items()}
        self._upgrades: dict[tuple[OneRun, str, str], list[Process]] = {}
        """The `kubeadm upgrade` that each run has begun, by machine and version."""
        self._restarted: set[tuple[str, str]] = set()
        """The machines whose kubelets runs have restarted, each with the version."""
        self._attempts: dict[str, tuple[str, int]] = {}
        """The last attempt of each NodeUpdate, with its digest."""
        self._updated: dict[str, str] = {}
        """The digest of the last work of each NodeUpdate, if it has ended well."""

    def replaced(self, name: str) -> None:
        """Another machine has taken this name: no work on it has ended."""
        self._upgrades = {key: each for key, each in self._upgrades.items() if key[1] != name}
        self._restarted = {each for each in self._restarted if each[0] != name}
        self._updated = {update: each for update, each in self._updated.items() if not update.startswith(f"{name}-")}

    def requested(self, request: Request, run: OneRun) -> Iterator[str]:
        """A run has made this request to a machine, which has started what it asks for."""
        name = self._names.get(request.path.removeprefix(PATH).partition("/")[0], "")
        if not name:
            return
        machine = self._machines[name]
        if upgrades_by_kubeadm(request):
            version = machine.packages.installed["kubeadm"]
            yield from self._began_upgrade(name, version, machine.processes[-1], run)
        elif restarts_kubelet(request):
            version = machine.kubelet.version
            if (name, version) in self._restarted:
                yield f"the kubelet of {name} is restarted again on {version}"
            self._restarted.add((name, version))
        elif submits(request):
            yield from given_at_work(name, str(_options(request).get("stdin") or "{}"), machine.agent.at_work)

    def _began_upgrade(self, name: str, version: str, process: Process, run: OneRun) -> Iterator[str]:
        before = self._upgrades.setdefault((run, name, version), [])
        if any(each.ended is not None and each.ended.rc == 0 for each in before):
            yield f"a run begins kubeadm upgrade on {name} to {version} after its own has ended well"
        if (name, version) in self._restarted:
            yield f"kubeadm upgrade is begun on {name}, whose kubelet was restarted on {version}"
        before.append(process)

    def changed(self, change: Change) -> Iterator[str]:
        """An object of Kubernetes has changed."""
        if change.kind.plural != NODE_UPDATES or change.type == "DELETED":
            return
        name, spec, status = change.item["metadata"]["name"], change.item["spec"], change.item.get("status") or {}
        digest, attempt = str(spec["digest"]), int(spec["attempt"])
        if self._attempts.get(name) != (digest, attempt) and self._updated.pop(name, "") == digest:
            yield f"attempt {attempt} of NodeUpdate {name} is begun, and its work has ended well before"
        self._attempts[name] = (digest, attempt)
        if is_well(status, attempt):
            self._updated[name] = digest

    def by_agents(self) -> Iterator[str]:
        """The operations that the agents have begun again until now."""
        for name, machine in self._machines.items():
            for operation in repeated(machine.agent.events):
                yield f"the agent of {name} begins operation {operation}, and its work has ended well before"


def given_at_work(name: str, document: str, at_work: str) -> Iterator[str]:
    """The agent of a machine gets this document while the operation `at_work` is under way, if it is not empty."""
    operation = str(json.loads(document).get("operation"))
    if at_work not in ("", operation):
        yield f"the agent of {name} gets operation {operation}, and {at_work} is under way"


def is_well(status: Json, attempt: int) -> bool:
    """Whether the status of a NodeUpdate says that this attempt has ended well."""
    return status.get("phase") == "Ready" and int(status.get("observedAttempt") or 0) >= attempt


def repeated(events: Sequence[Event]) -> Iterator[str]:
    """The operations of an agent that it has begun after one of the same digest has ended well.

    The name of an operation is the digest of its host configuration, and the number of the attempt.
    """
    done = set[str]()
    for event, operation in events:
        digest = operation.rpartition("-")[0]
        if event == REMOVED:
            done.clear()
        elif event == DONE:
            done.add(digest)
        elif event == BEGUN and digest in done:
            yield operation
