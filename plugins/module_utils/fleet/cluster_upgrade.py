"""The work of the module `cluster_upgrade`: one cluster of a fleet is planned, or upgraded, by a process of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..common.task import Contract, Outcome, Task
from ..common.timestamps import now_text, timestamp_of, utc_now
from ..common.verdict import Verdict
from ..common.voice import Waiting
from .fleet_record import DONE, FAILED, NOT_BEGUN, PLANNED, REFUSED, UPGRADING, WAITING, Cluster, held_back
from .folder import Folder
from .process import PlaybookCommand, Played, play

PLAYBOOKS = ("opensearch", "opensearch_hosts", "restart", "restart_hosts", "longhorn", "openshift", "machines")
CONTRACT = Contract(
    argument_spec={
        "state": {"type": "str", "choices": ["planned", "upgraded", "begun", "ended"], "default": "upgraded"},
        "cluster": {"type": "str", "required": True},
        "path": {"type": "path", "required": True},
        "playbook": {"type": "str", "choices": [*PLAYBOOKS], "default": "opensearch"},
        "variables": {"type": "dict", "default": {}},
        "secrets": {"type": "dict", "default": {}, "no_log": True},
        "inventory": {"type": "list", "elements": "path", "default": []},
        "cause": {"type": "str", "default": ""},
        "codes": {"type": "list", "elements": "str", "default": []},
    },
    guarded=False,
)


def run(task: Task) -> Outcome:
    """Carry out the state that is wanted. A cluster that fails is no failure of the task: the fleet judges it."""
    folder, name = Folder(Path(task.params["path"])), task.params["cluster"]
    if task.params["state"] == "planned" or task.check_mode:
        return _outcome(_planned(task, folder, name))
    fleet = folder.read()
    before = fleet.clusters.get(name) or Cluster(name, PLANNED)
    if task.params["state"] == "ended":
        return _outcome(_ended_elsewhere(task, folder, before), changed=True)
    if before.state == REFUSED:
        return _outcome(before)
    before = replace(before, wave=fleet.wave_of(name))
    cause = held_back(fleet, name)
    if cause:
        held = replace(before, state=NOT_BEGUN, cause=cause)
        folder.put(held)
        return _outcome(held)
    begun = replace(before, state=UPGRADING, began=now_text(), ended="", cause="", codes=())
    folder.put(begun)
    if task.params["state"] == "begun":
        return _outcome(begun, changed=True)
    command = PlaybookCommand(
        task.params["playbook"], {**_variables(task), "upgrade_confirm": before.digest}, _inventory(task)
    )
    started = task.clock.now()
    played = play(command, folder.log_of(name), _Listener(task).hear)
    ended = replace(
        begun, ended=now_text(), seconds=task.clock.now() - started, log=str(folder.log_of(name)), **_end(played)
    )
    folder.put(ended)
    return _outcome(ended, changed=played.changed)


def _planned(task: Task, folder: Folder, name: str) -> Cluster:
    """The plan of the cluster: its digest, or the cause for which there is none."""
    command = PlaybookCommand(task.params["playbook"], _variables(task), _inventory(task), ["--check"])
    log = folder.log_of_plan(name)
    played = play(command, log, _Listener(task).hear)
    digest = str(played.statistics.get("upgrade_confirm") or "")
    told = str(played.statistics.get("upgrade_plan_text") or "").partition("\n")[0]
    found = Cluster(name, PLANNED, digest=digest, plan=told.removeprefix(f"Plan {digest}").strip(), log=str(log))
    if played.code or not digest:
        end = _end(played)
        cause = end["cause"] or f"It has no plan: {played.last}"
        found = replace(found, **{**end, "state": REFUSED, "cause": cause})
    folder.put_plan(found)
    return found


def _ended_elsewhere(task: Task, folder: Folder, before: Cluster) -> Cluster:
    """The end of an upgrade that the user's own launcher has run. With a `cause` it has failed."""
    cause = task.params["cause"]
    seconds = (utc_now() - timestamp_of(before.began)).total_seconds() if before.began else 0.0
    how = {"state": FAILED if cause else DONE, "cause": cause, "codes": tuple(task.params["codes"])}
    ended = replace(before, **how, ended=now_text(), seconds=seconds)
    folder.put(ended)
    return ended


def _variables(task: Task) -> dict[str, Any]:
    return {**task.params["variables"], **task.params["secrets"]}


def _inventory(task: Task) -> list[str]:
    return [str(each) for each in task.params["inventory"]]


def _end(played: Played) -> dict[str, Any]:
    """The state of a cluster by the end of its playbook, whose statistics tell what its exit code does not."""
    said: Mapping[str, Any] = played.statistics
    state = WAITING if said.get("upgrade_state") == "waiting" else DONE
    waits = " ".join(map(str, said.get("upgrade_waiting_for") or ()))
    cause = str(said.get("upgrade_cause") or "") or f"The playbook ended with code {played.code}: {played.last}"
    return {
        "state": FAILED if played.code else state,
        "cause": cause if played.code else waits,
        "codes": tuple(map(str, said.get("upgrade_reasons") or ())),
        "record": str(said.get("upgrade_record") or ""),
    }


def _outcome(cluster: Cluster, *, changed: bool = False) -> Outcome:
    return Outcome(Verdict(), changed=changed, more={"cluster": cluster.as_data()})


class _Listener:
    """Tells what the process says: a member that is done as a line, and everything else as what is waited for."""

    _DONE = "✔ "

    def __init__(self, task: Task) -> None:
        self._task = task
        self._since = task.clock.now()
        self._last = "its playbook begins"
        self._cluster = task.params["cluster"]

    def hear(self, line: str) -> None:
        """A line of its output, or an empty one. It raises Refusal once this task is no longer wanted."""
        self._task.may_look()
        if line.startswith(self._DONE):
            self._task.voice.done(f"{self._cluster}: {line[len(self._DONE) :]}")
        elif line.strip():
            self._last, self._since = line.strip(), self._task.clock.now()
        self._task.voice.waits(Waiting(f"{self._cluster}: {self._last}", self._task.clock.now() - self._since))
