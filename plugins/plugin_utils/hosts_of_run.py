"""The hosts of the inventory that the members of a run are on, read from the variables of localhost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .run_options import GROUPS, GivenVariables

LOOKED = ("begin_reached", "begin_unseen")
"""The results of the look at a host: whether it answers, and why it was not seen, which is empty if it was."""
LEFT = "its connection was lost, or a task has failed on it, so that it takes no further part"


@dataclass(frozen=True)
class HostsOfRun:
    """The hosts of the groups in `upgrade_groups`; none without that variable."""

    given: GivenVariables
    variables: Mapping[str, Any]

    @property
    def groups(self) -> list[str]:
        """The groups by name."""
        return texts_in(self.given(GROUPS))

    def members(self) -> dict[str, list[str]] | None:
        """The members of each group by name; None if the members are not on hosts of the inventory."""
        return {group: [self._member(host) for host in self._in(group)] for group in self.groups} or None

    def places(self) -> dict[str, str]:
        """The host by member; empty if the members are not on hosts of the inventory."""
        return {self._member(host): host for group in self.groups for host in self._in(group)}

    def noted(self, fact: str) -> dict[str, Any]:
        """The value of this fact, which the role of each member sets on its host, by member; empty if it is not set."""
        return {member: self._of(host).get(fact) or {} for member, host in self.places().items()}

    def unseen(self, fact: str) -> list[str]:
        """The chosen members whose hosts do not have this fact while another host has it; none if no host has it."""
        noted, chosen = self.noted(fact), texts_in(self.given("upgrade_members"))
        without = [member for member, value in noted.items() if not value and (member in chosen or not chosen)]
        return without if any(noted.values()) else []

    def lost(self, members: Iterable[str]) -> list[str]:
        """The hosts of these members that cannot be reached or seen, each with the cause."""
        places = self.places()
        hosts = {host: self._of(host) for host in places.values()}
        # A host that takes no part in a play does not have what the others have.
        due = [name for name in LOOKED if any(name in each for each in hosts.values())]
        causes = {places[each]: _unseen_since(hosts[places[each]], due) for each in members if each in places}
        return [f"{host}: {cause}" for host, cause in causes.items() if cause]

    def _in(self, group: str) -> list[str]:
        return list(self.variables.get("groups", {}).get(group, ()))

    def _member(self, host: str) -> str:
        return str(self._of(host).get("upgrade_member") or host)

    def _of(self, host: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.variables["hostvars"][host]
        return found


def _unseen_since(host: Mapping[str, Any], due: Iterable[str]) -> str:
    """Why a host was not seen; empty if it was. The host has noted the facts that are `due`, unless it has failed."""
    said = (host.get("begin_reached") or {}).get("msg") or host.get("begin_unseen")
    return str(said or ("" if all(name in host for name in due) else LEFT))


def known_hosts(variables: Mapping[str, Any]) -> frozenset[str]:
    """All hosts of the inventory, with those that the run has added."""
    return frozenset(variables.get("groups", {}).get("all", ()))


def texts_in(given: Any) -> list[str]:
    """The texts of a variable that is a text with commas, or a list of such texts."""
    texts = [given] if isinstance(given, str) else given or []
    return [part.strip() for text in texts for part in str(text).split(",") if part.strip()]
