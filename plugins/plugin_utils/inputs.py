"""The faults in the variables that a playbook of this collection is given, one sentence for each.

Ansible ignores a variable that no task reads, so a misspelt `upgrade_members` would upgrade every member. The known
variables come from the argument specification of the system's role, which describes all that a run takes.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from .connection_inputs import CONNECTIONS, contradictions, parts_of, unanswered
from .input_values import which_is_meant, wrong_values
from .variables import ANY, OWN, PLAYBOOKS, PREFIX, SERVING, drains, names, table, taken_by

Options = Mapping[str, Mapping[str, Any]]

SYSTEM = f"{PREFIX}system"
"""The role of the system, for the playbooks that serve every system. They import it before the inventory is read."""
OF_ANY_SYSTEM = ("plan", *SERVING)
OPENSEARCH_ROLE = "stateful.upgrade.opensearch"
GROUPS = f"{PREFIX}groups"
"""The groups of the inventory that are the pools of a cluster on plain hosts."""
ON_HOSTS = {"opensearch": "opensearch_hosts", "restart": "restart_hosts", "plan": "opensearch_hosts with --check"}
"""The playbook that does for members on plain hosts what this one does for members in pods."""
OF_HOST = f"{PREFIX}member"
"""The variable of a host in the inventory that holds the name of its member."""
CLOSE = 0.6
CLOSE_BY_FAR = 0.8
"""How similar two names must be for difflib: to suggest one, and to refuse a name that may be the user's own."""


def faults(
    playbook: str,
    given: Mapping[str, Any],
    forced: Collection[str],
    entries: Mapping[str, Options],
    unknown_yet: Collection[str] = (),
    requested: Collection[str] = (),
) -> list[str]:
    """One sentence for each fault in the variables of localhost.

    `given` holds their values by name; `forced` are the names of those that were given with -e, which override all that
    a run sets; `entries` are the options of the entry points of the system's role. `unknown_yet` names variables whose
    value is not known yet: they are given, and the tasks that use them check their values. `requested` are the
    names that a request gives.
    """
    options = options_of(playbook, entries)
    others = {name for entry in entries.values() for name in _with_parts(entry)} - options.keys()
    given = {
        name: value
        for name, value in given.items()
        if not unanswered(value) or _must_be_answered(name, options.get(name))
    }
    names = sorted(name for name in given if name.startswith(PREFIX) and name not in options)
    if SYSTEM in names and given[SYSTEM] == system_of(playbook):
        names.remove(SYSTEM)
    unknown = (_unknown(name, playbook, options, others, name in forced) for name in names)
    return [
        *_missing(options, given),
        *_too_late(options, given, forced),
        *(() if drains(given.get(SYSTEM) or system_of(playbook)) else _nowhere(options, given)),
        *_in_each_hop(given, {*forced, *requested}),
        *(sentence for name in CONNECTIONS.keys() & options.keys() for sentence in contradictions(name, given)),
        *(sentence for sentence in unknown if sentence),
        *(
            sentence
            for name in sorted(options.keys() & given.keys() - set(unknown_yet))
            for sentence in wrong_values(name, given[name], options[name])
        ),
    ]


def options_of(playbook: str, entries: Mapping[str, Options]) -> dict[str, Mapping[str, Any]]:
    """The variables of a playbook, with the options inside the connections."""
    if playbook not in SERVING:
        own = dict(entries[PLAYBOOKS[playbook].entry if playbook in PLAYBOOKS else "main"])
    else:
        all_of_them = {name: option for options in entries.values() for name, option in options.items()}
        own = {name: {**option, "required": False} for name, option in all_of_them.items()}
        if GROUPS in own and f"{PREFIX}namespace" in own:
            own[f"{PREFIX}namespace"] = {**own[f"{PREFIX}namespace"], "unless": GROUPS}
    if playbook in OF_ANY_SYSTEM:
        own[SYSTEM] = {"type": "str"}
    return {**of_any_playbook(), **_with_parts(own)}


def system_of(playbook: str) -> str:
    """The system that a playbook of this collection upgrades: the whole name of its role; empty: it upgrades none.

    It may be in a file of variables for the serving playbooks, which that playbook gets, too.
    """
    return f"{OWN}.{PLAYBOOKS[playbook].role}" if playbook in PLAYBOOKS else ""


def of_any_playbook() -> Options:
    """The variables of one playbook each. Others may get them too: one file of variables serves several."""
    return {each.name: each.option for each in taken_by(ANY)}


def made_by_runs() -> frozenset[str]:
    """The variables that a run makes for its later tasks. Given with -e, they would replace the values of the run."""
    return names(lambda each: each.made)


def results() -> frozenset[str]:
    """The custom statistics of a run, which AWX hands to the next job of a workflow as variables."""
    return names(lambda each: each.result)


def _with_parts(own: Options) -> dict[str, Mapping[str, Any]]:
    """The variables with the options inside the connections, and with the flat variable of each of these."""
    parts = {name: part.option for connection in own for name, part in parts_of(connection).items()}
    return {
        **{name: {**option, **CONNECTIONS.get(name, {})} for name, option in own.items()},
        # Some are secrets, and an empty list is of no use.
        **{name: {**option, "required": False, "filled": True, "private": True} for name, option in parts.items()},
    }


def _must_be_answered(name: str, option: Mapping[str, Any] | None) -> bool:
    """Whether an empty text, as a survey gives it for an unanswered question, differs from a missing variable.

    It does for yes or no, for a number that may be 0, and for the groups, which decide what is upgraded.
    """
    if option is None or name == GROUPS or (name in table() and table()[name].least == 0):
        return True
    return option.get("type") == "bool" and not option.get("private")


def faults_of_hosts(playbook: str, names: Mapping[str, Collection[str]], entries: Mapping[str, Options]) -> list[str]:
    """One sentence for each variable of the members' hosts whose name is almost that of a known one.

    A name that is less similar may belong to the user's own role, which runs there.
    """
    known = [*options_of(playbook, entries), OF_HOST, *made_by_runs(), *results()]
    found: dict[str, str] = {}
    for host, variables in names.items():
        for name in variables:
            if name.startswith(PREFIX) and name not in known:
                meant = _closest(name, known, CLOSE_BY_FAR)
                if meant:
                    found.setdefault(name, f"{name} of host {host} is not a variable of this playbook: {_mean(meant)}")
    return [found[name] for name in sorted(found)]


def faults_of_groups(named: Collection[str], inventory: Collection[str]) -> list[str]:
    """One sentence for each of the groups of a run that the inventory does not have.

    Ansible only warns of a pattern that matches nothing, so the hosts of the others would be a run by themselves.
    """
    own = sorted({*inventory} - {"all", "ungrouped"})
    unknown = [name for name in named if name not in inventory]
    if unknown and not own:
        return [f"The inventory has no groups, and {GROUPS} names {', '.join(unknown)}: give the inventory with -i."]
    return [
        f"{GROUPS} names {name}, and the inventory has no such group: {which_is_meant(name, own)}" for name in unknown
    ]


def _missing(options: Options, given: Mapping[str, Any]) -> Iterator[str]:
    for name, option in options.items():
        instead = option.get("unless")
        if name in given or not (option.get("required") or (instead and instead not in given)):
            continue
        # A name with the prefix gets a sentence of its own, which suggests a similar variable.
        near = difflib.get_close_matches(name, [each for each in given if not each.startswith(PREFIX)], 1, CLOSE_BY_FAR)
        if near:
            yield f"{name} is missing, and {near[0]} is given: did you mean {name}?"
        elif instead:
            yield f"{name} is missing: give it, or {instead} if the members are on plain hosts."
        else:
            yield f"{name} is missing: give it with -e {name}=…, or in a file with -e @file.yml."


def _too_late(options: Options, given: Mapping[str, Any], forced: Collection[str]) -> Iterator[str]:
    # Without -e the playbooks use the default, which is also a variable of the play.
    if SYSTEM in options and SYSTEM not in forced and given.get(SYSTEM, OPENSEARCH_ROLE) != OPENSEARCH_ROLE:
        yield f"{SYSTEM} is set where it is read too late: give it with -e {SYSTEM}={given[SYSTEM]}."


def _nowhere(options: Options, given: Mapping[str, Any]) -> Iterator[str]:
    """Faults for places in Kubernetes in an upgrade of plain hosts, which has no namespace."""
    for name in (f"{PREFIX}lock_kept_in", f"{PREFIX}record_kept_in"):
        if name in options and given.get(name) == "kubernetes" and given.get(GROUPS) and GROUPS in options:
            yield f"{name} is 'kubernetes', and with {GROUPS} there is no namespace: leave it out."


def _in_each_hop(given: Mapping[str, Any], fixed: Collection[str]) -> Iterator[str]:
    """A fault for a target that is the same in each hop, because no play could give it another value there."""
    if given.get(f"{PREFIX}hops") and given.get(GROUPS) and "target_version" in fixed:
        yield (
            f"target_version is given with -e or by a request, so {OF_HOST}_role would install that version in each hop"
            f" of {PREFIX}hops: give it in the inventory, as a variable of all hosts."
        )


def _unknown(name: str, playbook: str, options: Options, others: Collection[str], forced: bool) -> str:
    made = name in made_by_runs()
    if name in results() or (not forced and (made or (name == OF_HOST and GROUPS in options))):
        return ""
    if made:
        return f"{name} is made by the run itself and cannot be given: take it out."
    if name in table() and table()[name].removed:
        return f"{name} was removed, take it out: {table()[name].removed}"
    if name in others:
        use = ON_HOSTS.get(playbook) if name == GROUPS else None
        other = f", or use the playbook {use} if the members are on plain hosts" if use else ""
        return f"{name} does nothing in the playbook {playbook}: take it out{other}."
    meant = _closest(name, options, CLOSE)
    if meant:
        return f"{name} is not a variable of the playbook {playbook}: {_mean(meant)}"
    return (
        f"{name} is not a variable of the playbook {playbook}: take it out, or give a variable of your own a name that"
        f" does not begin with {PREFIX}."
    )


def _mean(name: str) -> str:
    return f"did you mean {name}?"


def _closest(name: str, known: Collection[str], cutoff: float) -> str:
    """The most similar name, compared without the prefix that all have; empty if none is similar."""
    found = difflib.get_close_matches(
        name.removeprefix(PREFIX), [each.removeprefix(PREFIX) for each in known if each.startswith(PREFIX)], 1, cutoff
    )
    return f"{PREFIX}{found[0]}" if found else ""
