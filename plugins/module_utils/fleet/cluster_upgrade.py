"""The work of the module `cluster_upgrade`: one cluster of a fleet is planned by a process of its own, and upgraded by
one, or by a job of another scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..common.arguments import KUBERNETES
from ..common.errors import Refusal, refusal
from ..common.task import Contract, Outcome, Task, sentences
from ..common.timestamps import now_text, timestamp_of, utc_now
from ..common.verdict import Verdict, refused
from ..common.voice import Waiting
from ..kubernetes.client import connect
from .awx_job import AwxJobs
from .awx_server import OPTIONS as AWX
from .awx_server import AwxServer
from .fleet_record import DONE, FAILED, NOT_BEGUN, PLANNED, REFUSED, UPGRADING, WAITING, Cluster, held_back
from .folder import Folder
from .kubernetes_job import KubernetesJobs
from .launched import LaunchedUpgrade, failure_of, is_gone
from .launching import Launcher
from .process import COLLECTION, PlaybookCommand, Played, play

PLAYBOOKS = ("opensearch", "opensearch_hosts", "restart", "restart_hosts", "longhorn", "openshift", "machines")
PROCESS, AWX_JOB, KUBERNETES_JOB = "process", "awx", "kubernetes_job"
ON_HOSTS = ("opensearch_hosts", "restart_hosts", "machines")
CONTRACT = Contract(
    argument_spec={
        "state": {
            "type": "str",
            "choices": ["planned", "upgraded", "begun", "ended", "proven", "cancelled"],
            "default": "upgraded",
        },
        "cluster": {"type": "str", "required": True},
        "path": {"type": "path", "required": True},
        "playbook": {"type": "str", "choices": [*PLAYBOOKS], "default": "opensearch"},
        "variables": {"type": "dict", "default": {}},
        "secrets": {"type": "dict", "default": {}, "no_log": True},
        "inventory": {"type": "list", "elements": "path", "default": []},
        "cause": {"type": "str", "default": ""},
        "codes": {"type": "list", "elements": "str", "default": []},
        "soaks": {"type": "bool", "default": False},
        "launcher": {"type": "str", "choices": [PROCESS, AWX_JOB, KUBERNETES_JOB], "default": PROCESS},
        "template": {"type": "str"},
        "awx": AWX,
        "job_kubernetes": KUBERNETES["kubernetes"],
        "job_namespace": {"type": "str"},
        "wait_timeout": {"type": "int", "default": 86400},
        "wait_sleep": {"type": "float", "default": 5},
    },
    guarded=False,
)


def run(task: Task) -> Outcome:
    """Bring the cluster into the wanted state. A cluster that fails does not fail the task: the fleet judges it."""
    folder, name = Folder(Path(task.params["path"])), task.params["cluster"]
    if task.params["state"] == "cancelled":
        return _cancelled(task, folder, name)
    if task.params["state"] == "planned" or task.check_mode:
        return _outcome(_planned(task, folder, name))
    fleet = folder.read()
    before = fleet.clusters.get(name) or Cluster(name, PLANNED)
    if task.params["state"] in ("ended", "proven"):
        has_ended = task.params["state"] == "ended"
        noted = _ended_elsewhere(task, folder, before) if has_ended else _proven(folder, before)
        return _outcome(noted, changed=has_ended)
    if before.state == REFUSED:
        return _outcome(before)
    before = replace(before, wave=fleet.wave_of(name))
    cause = held_back(fleet, name)
    if cause:
        held = replace(before, state=NOT_BEGUN, cause=cause)
        folder.put(held)
        return _outcome(held)
    at = now_text()
    # A canary whose soak has failed or was killed is compared with the same time as before.
    since = (before.since or at) if task.params["soaks"] else ""
    begun = replace(before, state=UPGRADING, began=at, since=since, ended="", cause="", codes=())
    folder.put(begun)
    if task.params["state"] == "begun":
        return _outcome(begun, changed=True)
    if task.params["launcher"] == PROCESS:
        return _in_process(task, folder, begun)
    launched = LaunchedUpgrade(task, folder, _launcher(task), begun)
    return _outcome(launched.run(task.params["variables"]), changed=launched.changed)


def _in_process(task: Task, folder: Folder, begun: Cluster) -> Outcome:
    """The upgrade by a process on this machine. The process is ended if the fleet is cancelled."""
    consent = {**_variables(task), "upgrade_confirm": begun.digest}
    command = PlaybookCommand(task.params["playbook"], consent, _inventory(task))
    log, started = folder.log_of(begun.name), task.clock.now()
    try:
        played = _played(task, command, log, _Listener(task, folder))
        end, changed = _end_of_upgrade(played), played.changed
    except Refusal as error:
        if is_gone(error):
            raise
        cause, *codes = failure_of(error)
        end, changed = {"state": FAILED, "cause": cause, "codes": tuple(codes)}, True
    ended = replace(begun, ended=now_text(), seconds=task.clock.now() - started, log=str(log), **end)
    folder.put(ended)
    return _outcome(ended, changed=changed)


def _played(task: Task, command: PlaybookCommand, log: Path, listener: _Listener) -> Played:
    """The end of the playbook, with a warning if its log lacks lines."""
    played = play(command, log, listener.hear)
    if played.unlogged:
        task.warn(f"{task.params['cluster']}: {played.unlogged}")
    return played


def _launcher(task: Task) -> Launcher:
    """The scheduler of the jobs.

    Raises:
        Refusal: an option that it needs is missing.
    """
    params = task.params
    needed = {"upgrade_fleet_template": params["template"]}
    if params["launcher"] == KUBERNETES_JOB:
        needed["upgrade_fleet_namespace"] = params["job_namespace"]
    missing = [name for name, value in needed.items() if not value]
    if missing:
        raise refusal(
            "fleet_launcher_incomplete",
            f"The launcher {params['launcher']} has no {' and no '.join(missing)}.",
            "Give it in the inventory: it may hold the name of the host, as in '{{ inventory_hostname }} upgrade'.",
        )
    if params["launcher"] == AWX_JOB:
        return AwxJobs(AwxServer(params["awx"]), params["template"])
    client = connect(params["job_kubernetes"])
    return KubernetesJobs(client, params["job_namespace"], params["template"], params["cluster"], params["playbook"])


def _cancelled(task: Task, folder: Folder, name: str) -> Outcome:
    """Note that nothing further may start, and end the job of this cluster. A process sees the note and ends itself."""
    if not task.check_mode:
        folder.cancel()
    cluster = folder.clusters([name]).get(name) or Cluster(name, PLANNED)
    if task.params["launcher"] == PROCESS:
        return _outcome(cluster)
    upgrade = LaunchedUpgrade(task, folder, _launcher(task), cluster)
    return _outcome(upgrade.cancel(), changed=upgrade.changed)


def _planned(task: Task, folder: Folder, name: str) -> Cluster:
    """The plan of the cluster: its digest, or why there is none."""
    found = _plan_of_running_job(task, folder, name)
    if found is not None:
        folder.put_plan(found)
        return found
    command = _plan_of(task)
    log = folder.log_of_plan(name)
    played = _played(task, command, log, _Listener(task))
    digest = str(played.statistics.get("upgrade_confirm") or "")
    shown = str(played.statistics.get("upgrade_plan_text") or "").partition("\n")[0]
    found = Cluster(name, PLANNED, digest=digest, plan=shown.removeprefix(f"Plan {digest}").strip(), log=str(log))
    if played.code or not digest:
        end = _end(played)
        cause = end["cause"] or f"It has no plan: {played.last}"
        found = replace(found, **{**end, "state": REFUSED, "cause": cause})
    elif task.params["launcher"] != PROCESS:
        found = _launchable(task, found)
    folder.put_plan(found)
    return found


def _plan_of_running_job(task: Task, folder: Folder, name: str) -> Cluster | None:
    """The plan that a job of an earlier run is carrying out. Errors are ignored here: making the plan reports them."""
    known = folder.clusters([name]).get(name)
    if known is None or task.params["launcher"] == PROCESS:
        return None
    try:
        return LaunchedUpgrade(task, folder, _launcher(task), known).plan_of_running_job(task.params["variables"])
    except Refusal:
        return None


def _plan_of(task: Task) -> PlaybookCommand:
    """The command for the plan. Check mode of the upgrade would also play each batch, so the playbook plan takes half
    as long; but members on hosts need the variables of their own playbook."""
    playbook, variables = task.params["playbook"], _variables(task)
    if playbook in ON_HOSTS:
        return PlaybookCommand(playbook, variables, _inventory(task), ["--check"])
    return PlaybookCommand(
        "plan", {**variables, "upgrade_system": f"{COLLECTION}.{playbook}"}, _inventory(task), ["--check"]
    )


def _launchable(task: Task, planned: Cluster) -> Cluster:
    """The planned cluster; it is refused here, before anyone consents, if no job can be launched for it."""
    try:
        launcher = _launcher(task)
        task.ask(launcher.examine)
    except Refusal as error:
        codes = tuple(each.code for each in error.verdict.deciding())
        return replace(planned, state=REFUSED, cause=sentences(error.verdict), codes=codes)
    return planned


def _ended_elsewhere(task: Task, folder: Folder, before: Cluster) -> Cluster:
    """The end of an upgrade that the user's own launcher has run. With a `cause` it has failed."""
    cause = task.params["cause"]
    seconds = (utc_now() - timestamp_of(before.began)).total_seconds() if before.began else 0.0
    how = {"state": FAILED if cause else DONE, "cause": cause, "codes": tuple(task.params["codes"])}
    ended = replace(before, **how, ended=now_text(), seconds=seconds)
    folder.put(ended)
    return ended


def _proven(folder: Folder, before: Cluster) -> Cluster:
    """The canary after it has proven itself."""
    proven = replace(before, since="")
    folder.put(proven)
    return proven


def _variables(task: Task) -> dict[str, Any]:
    return {**task.params["variables"], **task.params["secrets"]}


def _inventory(task: Task) -> list[str]:
    return [str(each) for each in task.params["inventory"]]


def _end(played: Played) -> dict[str, Any]:
    """The state of a cluster after its playbook has ended; its statistics say what the exit code does not."""
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


def _end_of_upgrade(played: Played) -> dict[str, Any]:
    """The same after an upgrade. Each one leaves statistics, so one without them is not known to be done."""
    end = _end(played)
    if played.code or "upgrade_state" in played.statistics:
        return end
    unknown = refused(
        "fleet_process_unknown_end",
        "The playbook has ended with code 0, but has left no statistics, so it is not known whether the cluster is"
        " done.",
        "Run the fleet again: a cluster that is done stays as it is. If this lasts, see the log of the cluster in"
        " upgrade_fleet_path, and that the folder for temporary files may be written.",
    )
    return {**end, "state": FAILED, "cause": unknown.sentence(), "codes": (unknown.code,)}


def _outcome(cluster: Cluster, *, changed: bool = False) -> Outcome:
    return Outcome(Verdict(), changed=changed, more={"cluster": cluster.as_data()})


class _Listener:
    """Shows what the process says: a member that is done as a line, and everything else as what is waited for."""

    _DONE = "✔ "

    def __init__(self, task: Task, folder: Folder | None = None) -> None:
        self._task, self._folder = task, folder
        self._since = task.clock.now()
        self._last = "its playbook starts"
        self._cluster = task.params["cluster"]

    def hear(self, line: str) -> None:
        """A line of its output, or an empty one. It raises Refusal once this task is no longer wanted."""
        self._task.may_look()
        if self._folder is not None and self._folder.is_cancelled():
            raise refusal(
                "fleet_cancelled",
                f"The fleet was cancelled, so the process of {self._cluster} was ended.",
                "Run the fleet again: the upgrade of this cluster continues where it stopped.",
            )
        if line.startswith(self._DONE):
            self._task.voice.done(f"{self._cluster}: {line[len(self._DONE) :]}")
        elif line.strip():
            self._last, self._since = line.strip(), self._task.clock.now()
        self._task.voice.waits(Waiting(f"{self._cluster}: {self._last}", self._task.clock.now() - self._since))
