"""The one table of variables, `meta/variables`: the variables that playbooks take, make, and give as results.

The argument specifications of the roles, the page of variables (`make pages`) and the check of a user's variables are
made from it. All facts about a variable are in its entry there, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from ansible.module_utils.common.yaml import yaml_load  # with the parser in C, where there is one

PREFIX = "upgrade_"
FOLDER = Path(__file__).absolute().parents[2] / "meta" / "variables"
MEMBER_ROLE = f"{PREFIX}member_role"
EVERY, ANY = "every", "any"
"""In place of names of playbooks: those of every system; and any, for a variable that only one uses but all accept."""
SELECTORS = "selectors"
LISTS = ("goes_with", "limit_of", "not_of", "option_of", "ready")
"""The fields of an entry that are lists."""
SPECIFIED = ("description", "type", "elements", "required", "choices", "default", "options")
"""The fields of an entry that an argument specification has, too."""


@dataclass(frozen=True)
class Playbook:
    """A playbook that upgrades, restarts or switches something."""

    role: str
    """The role whose argument specification it uses."""
    entry: str = "main"
    """The entry point of that role."""
    hosts: bool = False
    """Whether the members are on hosts of the inventory."""
    module: str = ""
    """The module that plans, begins and ends its runs; empty if it has the name of the role."""
    machines: bool = False
    """Whether its members are machines of Kubernetes: they are drained, and lock and record are in Kubernetes."""


OWN = "stateful.upgrade"
"""This collection."""
FLEET = "fleet"
"""The playbook for many clusters, and its role."""
PLAYBOOKS: Mapping[str, Playbook] = {
    "opensearch": Playbook("opensearch", module="upgrade_plan"),
    "opensearch_hosts": Playbook("opensearch", "hosts", hosts=True, module="upgrade_plan"),
    "restart": Playbook("restart", module="restart_plan"),
    "restart_hosts": Playbook("restart_hosts", hosts=True, module="restart_plan"),
    "longhorn": Playbook("longhorn", module="node_engine_plan"),
    "openshift": Playbook("openshift", module="openshift_upgrade"),
    "machines": Playbook("machines", hosts=True, module="machine_upgrade", machines=True),
    FLEET: Playbook("fleet"),
}
"""These playbooks by name."""
SERVING = ("abort", "approve", "pause", "report", "resume", "settle", "status")
"""The playbooks that serve every upgrade. Each takes all variables of the system."""


IMPORTED = {"restart_hosts": "opensearch"}
"""The role whose task files the role of a system imports, by system."""
OF_SYSTEM = ("add_capacity_", "gate", "remove_capacity_", "roll_", "settle_")
"""How the names of the results start that the role of a system registers, without the name of that role."""
OF_RUN = ("begin_", "finish_", "inputs_", "roll_", "settle_", "steps_")
"""How the names of the facts start that the roles of every run set."""


@dataclass(frozen=True)
class Variable:
    """One entry of the table."""

    name: str
    playbooks: frozenset[str] = frozenset()
    """The playbooks that take it; empty for a variable that no user gives."""
    option: Mapping[str, Any] = field(default_factory=dict)
    """Its argument specification."""
    otherwise: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The fields that differ in the specification of an entry point, by the name of its playbook or role."""
    least: int = 1
    """The least value of a number."""
    values: str = ""
    """The form of its texts (`forms.FORMS`), or of the whole value: `indices`, `pools` or `selectors`."""
    run_only: bool = False
    """Whether it is for the run alone, so that no request may hold it."""
    everyday: bool = False
    """Whether most users need it."""
    see: str = ""
    """The page of `docs` that says more about it."""
    needs: str = ""
    """The connection without which it does nothing."""
    goes_with: tuple[str, ...] = ()
    """Variables of systems: it does nothing if none of them is given."""
    limit_of: tuple[str, ...] = ()
    """The tasks of the roles whose `wait_timeout` it is: a module, or one with an option (`cluster_health_gate
    moment=joined`, or `shard_allocation drained` for any value), which goes before the module alone."""
    option_of: tuple[str, ...] | None = None
    """The modules whose options it gives: a module, whose option has its name without the prefix, or one with another
    option (`process_restart.way`). By default every module with an option of its name."""
    not_of: tuple[str, ...] = ()
    """Modules that have an option of its name, but do not get it from this variable."""
    shared: bool = False
    """Whether tasks of the user can take it, too, if they ask for the variables that all tasks of a run share."""
    holds_tasks: bool = False
    """Whether it names files with the user's own tasks. They are read before anything is changed, and nothing renews
    the lock while they run."""
    ready: tuple[str, ...] = ()
    """Its values that name something of this collection instead of a file of tasks."""
    removed: str = ""
    """For a variable of a former version: what to give instead, or what happens without it."""
    made: bool = False
    """Whether a run makes it for its later tasks."""
    result: bool = False
    """Whether it is a custom statistic of a run, which AWX hands to the next job of a workflow as a variable."""

    @property
    def is_text_list(self) -> bool:
        """Whether it is a list that may also be a text with commas."""
        return self.option.get("type") == "list" and self.option.get("elements") != "dict" and self.values != SELECTORS

    def specification(self, place: str) -> dict[str, Any]:
        """Its argument specification in the entry point of a playbook or role."""
        own = {**self.option, **self.otherwise.get(place, {})}
        if not own.get("required"):
            own.pop("required", None)
        return _specified({name: own[name] for name in SPECIFIED if name in own})

    def least_of(self, parts: Sequence[str]) -> int:
        """The least value of a number: of the variable itself, or of an option in it, by the names on the way there."""
        entry: Mapping[str, Any] = {"least": self.least, **self.option}
        for part in parts:
            entry = entry.get("options", {}).get(part, {})
        least: int = entry.get("least", 1)
        return least


def _specified(option: Mapping[str, Any]) -> dict[str, Any]:
    """An option, and those in it, without the field that argument specifications do not have."""
    own = {name: value for name, value in option.items() if name != "least"}
    if "options" in own:
        own["options"] = {name: _specified(each) for name, each in own["options"].items()}
    return own


@lru_cache(maxsize=1)
def table() -> Mapping[str, Variable]:
    """The variables by name, in the order of the files and in that of each file.

    Raises:
        ValueError: a file has an entry with an unknown field, or a name twice.
    """
    found: dict[str, Variable] = {}
    for path in sorted(FOLDER.glob("*.yml")):
        for name, entry in yaml_load(path.read_text(encoding="utf-8")).items():
            if name in found:
                raise ValueError(f"{path.name}: {name} is there twice.")
            found[name] = _variable(name, entry)
    return found


def _variable(name: str, entry: Mapping[str, Any]) -> Variable:
    more = {key: value for key, value in entry.items() if key not in SPECIFIED and key != "playbooks"}
    unknown = more.keys() - Variable.__dataclass_fields__.keys()
    if unknown:
        raise ValueError(f"{name}: {', '.join(sorted(unknown))} is no field.")
    taken = entry.get("playbooks", ())
    option = {key: entry[key] for key in SPECIFIED if key in entry}
    more.update({each: tuple(more[each]) for each in LISTS if each in more})
    return Variable(name, frozenset([taken] if isinstance(taken, str) else taken), option, **more)


def module_of(system: str) -> str:
    """The module that plans, begins and ends the runs of a system, from the name of its role, both with collection."""
    collection, _dot, role = system.rpartition(".")
    named = {each.role: each.module for each in PLAYBOOKS.values()} if collection == OWN else {}
    return f"{collection}.{named.get(role) or role}"


def drains(system: Any) -> bool:
    """Whether the members of a system, by the whole name of its role, are machines of Kubernetes."""
    collection, _dot, role = str(system or "").rpartition(".")
    return collection == OWN and any(each.machines for each in PLAYBOOKS.values() if each.role == role)


def ready_role(system: Any) -> str:
    """The role that works on the hosts of the members of a system if the user names none; empty if the user must
    name one."""
    role = str(system or "").rpartition(".")[2]
    names = [name for name, each in PLAYBOOKS.items() if each.hosts and each.role == role]
    return str(table()[MEMBER_ROLE].specification(names[0]).get("default") or "") if names else ""


def path_of_module(name: str) -> str:
    """The path by which Python imports a module of a collection, from its whole name."""
    collection, _dot, module = name.rpartition(".")
    return f"ansible_collections.{collection}.plugins.modules.{module}"


def taken_by(playbook: str) -> list[Variable]:
    """The variables whose entries name this playbook, or `EVERY` or `ANY` if that is given."""
    return [each for each in table().values() if playbook in each.playbooks]


def of_every_system() -> list[Variable]:
    """The variables of every run, and those that all playbooks take whose members are not on hosts of the inventory."""
    playbooks = {name for name, each in PLAYBOOKS.items() if not each.hosts and name != FLEET}
    return [each for each in table().values() if EVERY in each.playbooks or playbooks <= each.playbooks]


def names(holds: Callable[[Variable], bool]) -> frozenset[str]:
    """The names of the variables for which `holds` is true."""
    return frozenset(name for name, each in table().items() if holds(each))


def roles_of(system: Any) -> list[str]:
    """The roles whose results are those of this system (`upgrade_system`), without their collections."""
    own = str(system or "").rpartition(".")[2]
    return [role for role in (own, IMPORTED.get(own, "")) if role]


def of_runs(system: Any = None) -> tuple[str, ...]:
    """How the names of the facts start that runs leave: those of this collection, and of this system."""
    roles = {*roles_of(system), *(each.role for each in PLAYBOOKS.values())}
    return OF_RUN + tuple(f"{role}_{part}" for role in sorted(roles) for part in OF_SYSTEM)


def made_in(facts: Mapping[str, Any], system: Any) -> set[str]:
    """The names of the facts that belong to a run: those of its roles, and the variables taken from a request."""
    requested, beginnings = facts.get("begin_request"), of_runs(system)
    found = {name for name in facts if name.startswith(beginnings) or (name in table() and table()[name].made)}
    return found | set(requested.get("variables", ()) if isinstance(requested, Mapping) else ())
