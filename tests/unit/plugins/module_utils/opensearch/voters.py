"""Servers that vote: an excluded member loses its vote, and an elected one without a vote hands over.

The number of voters follows the servers' own rule (Reconfigurator, with automatic shrinking): it is odd, of live
members, and no fewer than three if three voted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    Json,
    coordination,
    identity,
    info,
    state_answer,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.servers import Servers

EXCLUSIONS = "/_cluster/voting_config_exclusions"


@dataclass
class Voters(Servers):
    """Managers of whom each votes, and members that do not."""

    managers: Sequence[str] = "abc"
    others: Sequence[str] = "de"
    elected: str = "a"
    votes: list[str] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)
    stubborn: bool = False
    """Whether no one else is elected."""
    stranger: str = ""
    """The member that someone else excludes at the same time."""
    parameters: Json = field(default_factory=dict)

    def __post_init__(self) -> None:
        """All are there, and vote as they do after a while."""
        names = [*self.managers, *self.others]
        self.nodes = {
            identity(name): info(name, roles=["cluster_manager"] if name in self.managers else ["data"])
            for name in names
        }
        self.votes = list(self.managers)
        self._vote()

    def order(self, method: str, path: str, **params: Any) -> None:
        """A request that is answered without a body."""
        self.parameters = params
        self._served(method, path)

    def _answer(self, method: str, path: str, body: Any) -> Json:
        if path == EXCLUSIONS and not {path, f"{method} {path}"} & self.denied.keys():
            if method == "DELETE":
                assert self.parameters == ({"wait_for_removal": "false"} if self.excluded else {})
                self.excluded = []
            else:
                strangers = [self.stranger] if self.stranger else []
                self.excluded += [*self.parameters["node_names"].split(","), *strangers]
            self._vote()
            return {}
        return super()._answer(method, path, body)

    def _vote(self) -> None:
        if not self.stubborn:
            free = [name for name in self.managers if name not in self.excluded]
            self.elected = self.elected if self.elected in free else free[-1]
            ordered = sorted(free, key=lambda name: (name != self.elected, name not in self.votes, name))
            least = 3 if sum(name in self.votes for name in free) >= 3 else 1
            self.votes = ordered[: max(len(free) - (len(free) % 2 == 0), least)]
        voting = coordination(sorted(self.votes), exclusions=self.excluded)
        self.state = state_answer([*self.managers, *self.others], elected=self.elected, voting=voting)
