"""The hosts of the inventory that the members of a run are on, read from the variables of localhost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .run_options import GROUPS, GivenVariables


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
        """The hosts of these members that cannot be reached, each with the cause."""
        places = self.places()
        reached = {
            places[each]: self._of(places[each]).get("begin_reached") or {} for each in members if each in places
        }
        return [f"{host}: {result['msg']}" for host, result in reached.items() if result.get("msg")]

    def _in(self, group: str) -> list[str]:
        return list(self.variables.get("groups", {}).get(group, ()))

    def _member(self, host: str) -> str:
        return str(self._of(host).get("upgrade_member") or host)

    def _of(self, host: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.variables["hostvars"][host]
        return found


def texts_in(given: Any) -> list[str]:
    """The texts of a variable that is a text with commas, or a list of such texts."""
    texts = [given] if isinstance(given, str) else given or []
    return [part.strip() for text in texts for part in str(text).split(",") if part.strip()]
