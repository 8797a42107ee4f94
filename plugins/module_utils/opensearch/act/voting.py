# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exclusions from voting, which make an elected manager hand over, and taking them back.

A member that is excluded leaves the voting configuration; where it was elected, it then abdicates to one that is not
excluded (server source, Reconfigurator.reconfigure and Coordinator.abdicateTo). With exclusions there the majority is
weaker than it looks: of three managers, one excluded, a single one votes, until the exclusion is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from ...common.errors import Refusal, Unreachable
from ...common.task import Task
from ..observe.client import OpenSearchClient
from ..observe.state import Voting
from ..observe.voting import observe_voting

EXCLUSIONS = "/_cluster/voting_config_exclusions"


def exclude(task: Task, client: OpenSearchClient, names: Collection[str], seconds: float) -> None:
    """Exclude these members from voting; the server waits for it to take effect, for so long.

    Whether that is still wanted is asked before.

    Raises:
        Refusal: it was not made; or `Unreachable`, where it may have been made.
    """
    listed = ",".join(sorted(names))
    with task.journal.doing(("excluded", listed, {})):
        client.order("POST", EXCLUSIONS, node_names=listed, timeout=f"{seconds:.0f}s")


def prove_take_back(task: Task, client: OpenSearchClient) -> None:
    """Have the server remove exclusions while there are none: whoever may not take back must not exclude either.

    Waiting for the removal, as it does unless told otherwise, it would leave those of others that come meanwhile.

    Raises:
        Refusal: the server does not allow it, or gave no answer.
    """
    if not observe_voting(client).exclusions:
        task.still_wanted()
        client.order("DELETE", EXCLUSIONS)


def take_back(task: Task, client: OpenSearchClient, voting: Voting, names: Collection[str]) -> frozenset[str]:
    """Let these members vote again. The server can only remove all exclusions: it does where all are of these names.

    `voting` is as it was observed just now. Gives the exclusions of others, for which nothing was done.
    """
    there = voting.exclusions
    others = there.difference(names)
    if there and not others:
        if not task.check_mode:
            task.still_wanted()
        with task.journal.doing(("included", ",".join(sorted(there)), {})):
            if not task.check_mode:
                client.order("DELETE", EXCLUSIONS, wait_for_removal="false")
    return others


def refused_by_server(act: Callable[[], None], *, lost: bool = True) -> Refusal | None:
    """What the server has refused of an act; with `lost` a lost answer is none, since the act may have been made.

    Raises:
        Refusal: it is the run that may not act any more.
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
