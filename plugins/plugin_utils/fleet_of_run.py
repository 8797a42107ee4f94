"""The fleet of a run, read from the variables of one of its clusters, and the options that tasks get from it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..module_utils.common.words import unique
from ..module_utils.fleet.given_values import marked
from ..module_utils.run.order import disagreement
from .batch_of_run import SOAK_MARGIN
from .monitoring_inputs import LIMITS, PROBES, asking_to_soak
from .run_options import GivenVariables, value_of
from .variables import table

LAUNCHER = "upgrade_fleet_launcher"
"""The variable with the launcher of jobs, or with a file of the user's own tasks."""
GROUP = "stateful_upgrade_fleet"
"""The group of the clusters in the order of the waves."""
PATH = "upgrade_fleet_path"
BY_SOAK = (LIMITS, PROBES)
"""The variables that say how a cluster or a batch proves itself."""
CANARY = "canary"
"""The name of the wave that goes first."""


@dataclass(frozen=True)
class FleetOfRun:
    """The fleet. `given` returns a variable with its templates filled in; None if it is not defined."""

    given: GivenVariables
    variables: Mapping[str, Any]

    def options(self, module: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The options that it gives to a task of the collection."""
        if module == "fleet_plan":
            whole = {"clusters": self.variables["ansible_play_hosts_all"], "groups": self.variables["groups"]}
            agreed = {"confirmed": self._planned["digest"]} if arguments.get("state") == "agreed" else {}
            return {**whole, "path": self._path, **self._own("canary", "waves", "failures", "playbook"), **agreed}
        if module == "cluster_upgrade":
            state = arguments.get("state", "upgraded")
            handed = {**self._handed, **self._own("playbook", "inventory")} if state in ("planned", "upgraded") else {}
            handed |= self._launcher() if state in ("planned", "upgraded", "cancelled") else {}
            end = self._end() if arguments.get("state") == "ended" else {}
            soaks = {"soaks": self._is_to_soak} if state in ("upgraded", "begun") else {}
            return {"cluster": self._host, "path": self._path, **handed, **end, **soaks}
        if module == "canary_soak" and self.given("fleet_given") is not None:
            return self._of_soak()
        return {}

    def order(self) -> list[str]:
        """The clusters in the order of the waves."""
        return [cluster for wave in self._waves for cluster in wave["clusters"]]

    def sizes(self) -> list[int]:
        """The number of clusters of each wave, for the `serial` of the play that upgrades them."""
        return [len(wave["clusters"]) for wave in self._waves] or [1]

    def soaks(self) -> bool:
        """Whether this cluster is an upgraded canary that must prove itself."""
        return self._is_to_soak and self._cluster.get("state") == "done"

    @property
    def _is_to_soak(self) -> bool:
        canaries = [name for wave in self._waves if wave["name"] == CANARY for name in wave["clusters"]]
        return self._host in canaries and self._soak_time > 0

    def launched(self) -> dict[str, Any]:
        """The `playbook`, the `variables` with the consent, and the `secrets` for a launcher of the user.

        Both are also there as `extra_vars`, in which values that look like templates are marked as none.
        """
        handed = self._handed
        variables = {**handed["variables"], "upgrade_confirm": self._cluster["digest"]}
        playbook = f"stateful.upgrade.{self.given('upgrade_fleet_playbook') or 'opensearch'}"
        of_both = {"extra_vars": marked(variables), "secret_extra_vars": marked(handed["secrets"])}
        return {**handed, "variables": variables, **of_both, "playbook": playbook}

    def has_own_launcher(self) -> bool:
        """Whether a file of the user's own tasks upgrades this cluster."""
        launcher = self.given(LAUNCHER)
        return bool(launcher) and not _is_ready(launcher)

    def unconsented(self, answer: str) -> str:
        """The refusal of a plan that was not agreed to; empty if it was. `answer` is that of a person at a terminal."""
        digest, consent = str(self._planned["digest"]), str(self.given("upgrade_fleet_confirm") or "")
        said = disagreement("upgrade_fleet_confirm", digest, consent, answer)
        remedy = (
            f"Look at the waves above, and at the plan of each cluster in {self._path}/plans. To carry them out, run"
            f" again with -e upgrade_fleet_confirm={digest}, or type yes when asked on a terminal."
        )
        return said and f"{said}, so nothing was done. {remedy}"

    def statistics(self) -> dict[str, Any]:
        """The custom statistics of the end."""
        end = self.given("fleet_end") or {}
        reasons = [str(each["message"]) for each in end["verdict"]["reasons"]]
        codes = unique(str(code) for cluster in end["clusters"].values() for code in cluster["codes"])
        state = "refused" if end["failed_clusters"] else "waiting" if reasons else "done"
        return {"upgrade_state": state, "upgrade_waiting_for": reasons, "upgrade_reasons": codes}

    def _own(self, *names: str) -> dict[str, Any]:
        return {name: value_of(f"upgrade_fleet_{name}", self.given) for name in names}

    def _launcher(self) -> dict[str, Any]:
        """The scheduler of this cluster's jobs; nothing for a process, and for tasks of the user's own."""
        launcher = self.given(LAUNCHER)
        if not _is_ready(launcher):
            return {}
        own = {"launcher": launcher, **self._own("template", "awx")}
        connection = {"job_kubernetes": "upgrade_fleet_kubernetes", "job_namespace": "upgrade_fleet_namespace"}
        return {
            **own,
            **{option: self.given(name) for option, name in connection.items()},
            "wait_timeout": self.given("upgrade_fleet_timeout"),
        }

    @property
    def _host(self) -> str:
        return str(self.variables["inventory_hostname"])

    @property
    def _path(self) -> str:
        return os.path.realpath(os.path.expanduser(str(self.given(PATH) or table()[PATH].option["default"])))

    @property
    def _planned(self) -> Mapping[str, Any]:
        """The plan of the fleet, which all of its clusters have; empty before there is one."""
        hosts: Sequence[str] = self.variables.get("groups", {}).get(GROUP) or ()
        there = self.variables["hostvars"][hosts[0]].get("fleet_planned") if hosts else self.given("fleet_planned")
        return there or {}

    @property
    def _waves(self) -> Sequence[Mapping[str, Any]]:
        found: Sequence[Mapping[str, Any]] = self._planned.get("waves", ())
        return found

    @property
    def _handed(self) -> dict[str, Any]:
        """The variables of this host that are for the upgrade of its cluster; its `secrets` are apart.

        If only the cluster as a whole proves itself, its upgrade does not get the probes and limits.
        """
        found: dict[str, Any] = self.given("fleet_given")
        variables = found["variables"]
        of_fleet = BY_SOAK if self._soak_time and not asking_to_soak(variables.get) else ()
        return {**found, "variables": {name: value for name, value in variables.items() if name not in of_fleet}}

    @property
    def _soak_time(self) -> int:
        """Seconds for which a canary must prove itself."""
        return int(self.given("upgrade_fleet_soak_time") or 0)

    @property
    def _cluster(self) -> Mapping[str, Any]:
        """The cluster, as its last task has left it."""
        found = self.given("fleet_ended") or {}
        cluster: Mapping[str, Any] = (found if "cluster" in found else self.given("fleet_upgraded"))["cluster"]
        return cluster

    def _end(self) -> dict[str, Any]:
        """The cause and the codes of the failure of a launcher, or of a canary, if there is one."""
        failure = self.given("fleet_failure")
        if failure is None:
            return {}
        unsaid = f"The task {failure['task']} has failed."
        return {"cause": unsaid if failure["message"] == "failed" else failure["message"], "codes": failure["codes"]}

    def _of_soak(self) -> dict[str, Any]:
        return {
            "members": [self._host],
            "began": self._cluster.get("since") or self._cluster["began"],
            "ended": self._cluster["ended"],
            "soak_time": self._soak_time,
            "wait_timeout": self._soak_time + SOAK_MARGIN,
        }


ANSWERS: Mapping[str, Callable[[FleetOfRun], Any]] = {
    "order": lambda fleet: fleet.order(),
    "sizes": lambda fleet: fleet.sizes(),
    "soaks": lambda fleet: fleet.soaks(),
    "launched": lambda fleet: fleet.launched(),
    "has_own_launcher": lambda fleet: fleet.has_own_launcher(),
    "statistics": lambda fleet: fleet.statistics(),
}
"""The answers about a fleet by question."""


def _is_ready(launcher: Any) -> bool:
    """Whether this names a launcher of the collection."""
    return launcher in table()[LAUNCHER].ready
