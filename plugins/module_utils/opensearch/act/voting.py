"""Exclusions from voting, which make an elected manager hand over, and taking them back.

A member that is excluded leaves the voting configuration; if it was elected, it then abdicates to one that is not
excluded (server source, Reconfigurator.reconfigure and Coordinator.abdicateTo). Exclusions make the majority weaker
than it looks: of three managers, one excluded, a single one votes, until the exclusion is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from ...common.errors import Refusal, Unreachable
from ...common.task import Task
from ..observe.client import OpenSearchClient
from ..observe.cluster import observe_voting
from ..observe.state import Voting

EXCLUSIONS = "/_cluster/voting_config_exclusions"


def exclude(task: Task, client: OpenSearchClient, names: Collection[str], seconds: float) -> None:
    """Exclude these members from voting. The server waits up to `seconds` until that takes effect.

    The caller checks before that the run may still act.

    Raises:
        Refusal: they were not excluded; `Unreachable` if they may have been.
    """
    listed = ",".join(sorted(names))
    with task.journal.doing(("excluded", _named(listed), {})):
        client.order("POST", EXCLUSIONS, node_names=listed, timeout=f"{seconds:.0f}s")


def prove_take_back(task: Task, client: OpenSearchClient) -> None:
    """Have the server remove exclusions while there are none: a user who may not remove them must not exclude either.

    By default the server waits for the excluded members to leave, so it would not remove exclusions that others make
    in the meantime.

    Raises:
        Refusal: the server does not allow it, or gave no answer.
    """
    if not observe_voting(client).exclusions:
        task.still_wanted()
        client.order("DELETE", EXCLUSIONS)


def take_back(task: Task, client: OpenSearchClient, voting: Voting, names: Collection[str]) -> frozenset[str]:
    """Let these members vote again. The server can only remove all exclusions, so it does so if all are of these.

    `voting` was observed just now. The result holds the exclusions of others; if there are any, nothing was done.
    """
    there = voting.exclusions
    others = there.difference(names)
    if there and not others:
        if not task.check_mode:
            task.still_wanted()
        with task.journal.doing(("included", _named(",".join(sorted(there))), {})):
            if not task.check_mode:
                client.order("DELETE", EXCLUSIONS, wait_for_removal="false")
    return others


def _named(listed: str) -> str:
    """The target of the acts, which a report names among other changes."""
    return f"exclusion of {listed} from voting"


def refused_by_server(act: Callable[[], None], *, lost: bool = True) -> Refusal | None:
    """The server's refusal of an act, if any. With `lost` a lost answer is no refusal: the act may have been made.

    Raises:
        Refusal: the run may not act any more.
    """
    try:
        act()
    except Unreachable:
        if not lost:
            raise
    except Refusal as error:
        if not all(reason.code.startswith("opensearch_") for reason in error.verdict.reasons):
            raise
        return error
    return None
