"""The work of the part `cluster_snapshot`: a snapshot before the first batch, waited for and proven.

The record of the upgrade names it, so a run finds the one that a killed run has started, and takes none twice. Older
ones of upgrades of the same cluster are removed once it is proven, if only so many are to be kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from ..common.arguments import CONNECTIONS, WAIT, Options
from ..common.errors import Denied, Refusal, Unreachable
from ..common.task import Contract, Outcome, Task, passed_or_raise
from ..common.verdict import Reason, State, Verdict, as_verdict, combine, remark
from .judge.cluster_snapshot import (
    SnapshotLook,
    SnapshotWanted,
    attempt_due,
    judge_earlier,
    judge_planned,
    judge_repository,
    judge_taken,
    outlived,
    remaining,
    wanted_of,
)
from .observe.client import OpenSearchClient, connect
from .observe.cluster import cluster_uuid
from .observe.cluster_snapshot import MARK, OwnSnapshot
from .observe.finding_cluster_snapshot import (
    observe_own,
    observe_repositories,
    observe_running,
    observe_shards,
    path_of,
    verify_repository,
)

SNAPSHOT: Options = {
    "snapshot": {"type": "str"},
    "snapshot_indices": {"type": "list", "elements": "str", "default": ["*"]},
    "snapshot_keep": {"type": "int", "default": 0},
}
"""The options for the snapshot of an upgrade, also of its plan."""
CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **WAIT,
        **SNAPSHOT,
        "wait_timeout": {"type": "int", "default": 1800},
        "state": {"type": "str", "default": "present", "choices": ["present", "planned"]},
        "target_version": {"type": "str", "required": True},
        "started": {"type": "str", "default": ""},
        "recorded": {"type": "bool", "default": True},
    },
    required_if=[("state", "present", ("snapshot",)), ("state", "planned", ("snapshot",))],
)


def run(task: Task) -> Outcome:
    """Take the snapshot and follow it until it is proven, or judge whether it can be taken."""
    client = connect(task.params["opensearch"], task.params["kubernetes"])
    if task.params["state"] == "planned":
        return task.settled(lambda: _foreseen(task, client))
    return _present(task, client)


def _wanted(task: Task, client: OpenSearchClient) -> tuple[SnapshotWanted, dict[str, OwnSnapshot]]:
    """The snapshot that counts for this run, and all whose names start as those of upgrades."""
    params = task.params
    cluster, own = cluster_uuid(client), observe_own(client, params["snapshot"])
    wanted = wanted_of(
        params["snapshot"], params["target_version"], params["started"], cluster, params["snapshot_indices"]
    )
    return attempt_due(wanted, own, task.run), own


def _foreseen(task: Task, client: OpenSearchClient) -> Outcome:
    """The verdict on taking it. An upgrade that continues has its own already, or has started to take it."""
    params = task.params
    fit = _judge_fit(task, client, recorded=params["recorded"])
    if not fit.passed:
        return Outcome(fit)
    planned = partial(judge_planned, repository=params["snapshot"], indices=params["snapshot_indices"])
    if not params["started"]:
        return Outcome(planned(None))
    wanted, own = _wanted(task, client)
    found = own.get(wanted.name)
    there = judge_taken(wanted, SnapshotLook(found)) if found else Verdict()
    if there.state is State.REFUSED:
        return Outcome(there)
    return Outcome(combine((judge_earlier(wanted, own), planned(wanted))))


def _judge_fit(task: Task, client: OpenSearchClient, *, recorded: bool) -> Verdict:
    """Whether the repository is there and takes a snapshot. In check mode no member writes a test file to it."""
    name = task.params["snapshot"]
    there = observe_repositories(client)
    known = judge_repository(name, there, recorded=recorded)
    if not known.passed or task.check_mode:
        return known
    try:
        verify_repository(client, name)
    except (Unreachable, Denied):
        raise
    except Refusal as error:
        fault = error.verdict.reasons[0].message.rstrip(".")
        return judge_repository(name, there, fault, recorded=recorded)
    return known


def _present(task: Task, client: OpenSearchClient) -> Outcome:
    params = task.params
    passed_or_raise(task.ask(lambda: _judge_fit(task, client, recorded=bool(params["started"]))))
    wanted, own = task.ask(lambda: _wanted(task, client))
    taking = _Taking(task, client, wanted)
    look, verdict = task.wait(taking.look, partial(judge_taken, wanted), stoppable=True, remaining=remaining)
    if not verdict.passed or look.found is None:
        return Outcome(verdict, changed=taking.started)
    # Another member may have lost its access while the snapshot was taken, and its repository with it.
    fit = passed_or_raise(task.ask(lambda: _judge_fit(task, client, recorded=True)))
    removed = _remove_old(task, client, wanted)
    more = {"snapshot": {"name": wanted.full_name, "indices": len(look.found.indices), "shards": look.found.shards}}
    earlier = judge_earlier(wanted, own)
    return Outcome(combine((verdict, fit, earlier, removed)), changed=bool(task.journal.as_result()), more=more)


@dataclass
class _Taking:
    """The looks at the snapshot; the first one starts it if it is not there."""

    task: Task
    client: OpenSearchClient
    wanted: SnapshotWanted
    started: bool = False

    def look(self) -> SnapshotLook:
        """The snapshot as it is now; it is started if there is none, and no other one is being taken."""
        found = self._seen()
        if found.found is not None or self.task.check_mode:
            return found
        others = observe_running(self.client)
        if others:
            return SnapshotLook(others=others)
        try:
            self._start()
        except Unreachable:
            raise
        except Refusal:
            # Perhaps an earlier request arrived and its answer was lost: the server then refuses the same name.
            self.task.may_look()
            found = self._seen()
            if found.found is None:
                raise
            return found
        return self._seen()

    def _seen(self) -> SnapshotLook:
        found = observe_own(self.client, self.wanted.repository).get(self.wanted.name)
        if found is None:
            return SnapshotLook()
        return SnapshotLook(found, observe_shards(self.client, self.wanted.repository, found.name))

    def _start(self) -> None:
        wanted = self.wanted
        mark = {"cluster": wanted.cluster, "upgrade": wanted.upgrade, "indices": wanted.asked}
        body = {
            "indices": ",".join(wanted.indices),
            "include_global_state": True,
            "ignore_unavailable": False,
            # With true the snapshot would also be taken if an index lacks a primary.
            "partial": False,
            "metadata": {MARK: {**mark, "run": self.task.run}},
        }
        path = path_of(wanted.repository, wanted.name)

        def start() -> None:
            self.client.put(path, body, wait_for_completion="false")

        self.started = True
        self.task.act("took_snapshot", wanted.full_name, start)


def _remove_old(task: Task, client: OpenSearchClient, wanted: SnapshotWanted) -> Verdict:
    """Remove the older snapshots of upgrades of this cluster that are not to be kept. One that stays is a remark."""
    keep = task.params["snapshot_keep"]
    if keep < 1:
        return Verdict()
    old = outlived(task.ask(lambda: observe_own(client, wanted.repository)).values(), wanted, keep)
    return _removed(task, client, wanted.repository, [each.name for each in old])


@as_verdict
def _removed(task: Task, client: OpenSearchClient, repository: str, names: list[str]) -> Iterator[Reason]:
    failed = dict[str, Refusal]()
    for name in names:
        path = path_of(repository, name)
        try:
            task.act("deleted_snapshot", f"{repository}/{name}", partial(client.delete, path))
        except Refusal as error:
            task.may_look()
            failed[name] = error
    # The answer to a deletion comes once it is done, which may take longer than it is waited for.
    there = task.ask(lambda: observe_own(client, repository)) if failed else {}
    for name, cause in failed.items():
        if name in there:
            doing = " The server may still delete it." if isinstance(cause, Unreachable) else ""
            said = f"Snapshot {repository}/{name} of an earlier upgrade is still there.{doing}"
            remedy = "Delete it by hand, or leave it to the next upgrade."
            yield remark("snapshot_left", f"{said} {cause.verdict.reasons[0].message}", remedy)
