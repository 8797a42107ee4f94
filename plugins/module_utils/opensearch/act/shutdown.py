"""Registering with Elasticsearch which members restart, so that it knows why they leave, and taking that back.

A registration is made after allocation was restricted, and removed before that is put back. So there is an undo in the
cluster as long as there is a registration, and whoever carries the undo out finds the registration by its reason. If a
person has removed the undo, the next that puts everything back finds it: the servers never remove one themselves
(documentation of the API, "Put shutdown"), and would wait for its time whenever that member leaves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...common.errors import Refusal, Unreachable
from ...common.task import Task
from ...common.verdict import Reason, remark
from ...common.words import enumerate_few
from ..observe.client import OpenSearchClient
from ..observe.shutdowns import OURS, Shutdown, read_shutdowns
from ..observe.state import ClusterState

AWAY = "1h"
"""The time for which the servers keep the shards of a member that has registered."""


def register(task: Task, client: OpenSearchClient, state: ClusterState, names: Collection[str]) -> tuple[Reason, ...]:
    """Register that these members restart and come back within `AWAY`. The result has remarks.

    It is done if all members know the API. A server that does not allow it gives a remark: the batch is safe without.

    Raises:
        Unreachable: there was no answer, so it may have been registered.
    """
    since = state.product.shutdown_since
    if task.check_mode or since is None or any(each.version < since for each in state.members.values()):
        return ()
    try:
        present = read_shutdowns(client)
        if present is None:
            return ()
        registered = {each.id: each for each in present}
        for each in sorted(state.ids(names) - registered.keys()):
            _register(task, client, each, state.members[each].name)
    except Unreachable:
        raise
    except Refusal as error:
        return (_not_registered(error),)
    return tuple(_others(state, names, registered.values()))


def unregister(task: Task, client: OpenSearchClient) -> bool:
    """Take back all registrations of this collection. A user who may not see them cannot have made any.

    The result says whether there were any.

    Raises:
        Refusal: one was not taken back, or there was no answer.
    """
    try:
        present = read_shutdowns(client)
    except Unreachable:
        raise
    except Refusal:
        return False
    ours = [each for each in present or () if each.reason.startswith(OURS)]
    for each in ours:
        if not task.check_mode:
            task.still_wanted()
        with task.journal.doing(("unregistered_shutdown", each.id, {"reason": each.reason})):
            if not task.check_mode:
                # It may be gone by now: taken back by another, or by a request whose answer was lost.
                client.delete(f"/_nodes/{each.id}/shutdown")
    return bool(ours)


def _register(task: Task, client: OpenSearchClient, member: str, name: str) -> None:
    body = {"type": "restart", "reason": f"{OURS} {task.run}".strip(), "allocation_delay": AWAY}
    task.still_wanted()
    with task.journal.doing(("registered_shutdown", name, {"allocation_delay": AWAY})):
        client.put(f"/_nodes/{member}/shutdown", body)


def _others(state: ClusterState, names: Collection[str], present: Collection[Shutdown]) -> Iterator[Reason]:
    """A remark on members that someone else has registered."""
    others = [each.id for each in present if each.id in state.ids(names) and not each.reason.startswith(OURS)]
    if others:
        yield remark(
            "shutdown_of_another",
            f"Something else has registered {enumerate_few(state.members[each].name for each in others)} to shut down"
            " (GET _nodes/shutdown), which is left as it is.",
            "Remove the registration once it is no longer needed.",
        )


def _not_registered(error: Refusal) -> Reason:
    return remark(
        "shutdown_not_registered",
        f"The restart of the members could not be announced to the servers: {error.verdict.reasons[0].message}",
        "To announce it, give the user the cluster privilege manage. The restriction of allocation is enough.",
    )
