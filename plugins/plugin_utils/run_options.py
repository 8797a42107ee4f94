"""The options that a task gets from the variables of its run, so that no task of a role repeats them.

The table of variables says which option of which module a variable gives. The collection's own tasks take all of them.
Other tasks take none, or those that they ask for with `from_variables`. An option that the task sets itself is kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cache, cached_property
from typing import Any, Protocol

from .connection_inputs import CONNECTIONS, NAMESPACE, is_list, listed, merged, parts_of, unanswered
from .variables import PREFIX, Variable, drains, of_runs, table

ASKED = "from_variables"
"""The option with which a task asks for them."""
SYSTEM = f"{PREFIX}system"
"""The variable with the role of the system."""
NONE, SHARED, ALL = "none", "shared", "all"
"""Its values."""
GROUPS = f"{PREFIX}groups"
"""The groups of plain hosts, which are in no namespace, and whose lock is in the cluster itself."""
RESULTS = of_runs()
"""How the names of results start that the roles of this collection register."""
LIMITS = {task: name for name, each in table().items() for task in each.limit_of}
"""The variable for the `wait_timeout` of a module, or of one with an option, or with one of this value."""


LOCALHOST = "localhost"
FAILED_TASK = "ansible_failed_task"
"""The task that a rescue handles, as Ansible gives it."""
OF_FAILED_TASK = ("name", "action", "no_log")
"""The fields of it that are read. Its variables may have templates that only the role of the task can fill in."""


class GivenVariables(Protocol):
    """The values that a user has given."""

    def __call__(self, name: str, /) -> Any:
        """The value of a variable, with its templates filled in; None if it is not defined."""


def given_by(templar: Any, variables: Mapping[str, Any]) -> GivenVariables:
    """The function that returns one of these variables, with the templar of a lookup or of a task."""
    without_templates = dict[str, Any]()

    def given(name: str, /) -> Any:
        value = variables.get(name)
        if name == FAILED_TASK and isinstance(value, Mapping):
            value = {each: value.get(each) for each in OF_FAILED_TASK}
        if value is None or _is_result(name, value):
            return value
        if name not in without_templates:
            without_templates[name] = templar.template(value)
        return without_templates[name]

    return given


class OfHost(Mapping[str, Any]):
    """The variables of a host, each with its templates filled in."""

    def __init__(self, variables: Mapping[str, Any], host: str) -> None:
        """`variables` are those of any host, which lead to the others."""
        self._hostvars, self._host = variables.get("hostvars", {}), host
        self._raw = raw_variables(variables, host)

    @cached_property
    def _without_templates(self) -> Mapping[str, Any]:
        # Ansible collects all variables of a host each time that it is asked for the host.
        of_host: Mapping[str, Any] = self._hostvars[self._host]
        return of_host

    def __getitem__(self, name: str) -> Any:
        value = self._raw[name]
        return value if _is_result(name, value) else self._without_templates[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)


def raw_variables(variables: Mapping[str, Any], host: str) -> Mapping[str, Any]:
    """The variables of a host with their templates; `variables` are those of any host, which lead to the others."""
    hostvars = variables.get("hostvars", {})
    raw = getattr(hostvars, "raw_get", hostvars.get)(host)
    return raw if isinstance(raw, Mapping) else {}


def _is_result(name: str, value: Any) -> bool:
    """Whether a task of the roles has registered it. It has no templates, and is long: searching it for
    templates costs more than all other variables together."""
    return isinstance(value, Mapping) and name.startswith(RESULTS)


def answers(answer: Any) -> list[Any]:
    """An answer as a lookup gives it: a list stays one, and anything else is its one element."""
    return answer if isinstance(answer, list) else [answer]


def given_options(
    module: str,
    options: Mapping[str, Mapping[str, Any]],
    arguments: Mapping[str, Any],
    level: str,
    given: GivenVariables,
) -> dict[str, Any]:
    """The options of a module that variables give, without those that the task sets in `arguments`.

    `options` is its argument specification, and `level` a value of `from_variables`. A variable that is not defined or
    is empty gives its own default if that differs from the option's, else nothing.
    """
    if level == NONE or ASKED not in options:
        return {}
    found = {
        option: _value(name, given, options[option].get("default"))
        for option, name in variables_of(module, frozenset(options), shared=level == SHARED).items()
        if option not in arguments
    }
    limit = limit_of(module, arguments)
    if level == ALL and limit and "wait_timeout" not in arguments:
        found["wait_timeout"] = given(limit)
    if on_plain_hosts(given):
        found |= _of_plain_hosts(options, arguments)
    return {option: value for option, value in found.items() if value != {} and not unanswered(value)}


def on_plain_hosts(given: GivenVariables) -> bool:
    """Whether members are on plain hosts, whose lock is in their cluster. Machines of Kubernetes have groups, too."""
    return bool(given(GROUPS)) and not drains(given(SYSTEM))


def own_options(options: Collection[str], given: GivenVariables) -> dict[str, Any]:
    """The options given by variables of the same names that the table does not have: those of a system of another
    collection."""
    return {each: given(f"{PREFIX}{each}") for each in options if f"{PREFIX}{each}" not in table()}


def of_pool(pool: Mapping[str, Any]) -> dict[str, Any]:
    """The options that a pool gives, as the plan has it, to a task that changes it."""
    options = {"pool": "name", "container": "container", "image": "target_image", "strategy": "rolled_by"}
    return {option: pool.get(name) for option, name in options.items()}


def as_list(value: Any, option: Mapping[str, Any]) -> Any:
    """A text with commas for an option that is a list of texts, as that list; anything else as it is."""
    return listed(value) if option.get("type") == "list" and option.get("elements") == "str" else value


def limit_of(module: str, arguments: Mapping[str, Any]) -> str:
    """The variable for the `wait_timeout` of a task; empty if there is none."""
    tasks = [f"{module} {option}={value}" for option, value in arguments.items()]
    tasks += [f"{module} {option}" for option, value in arguments.items() if value] + [module]
    return next((LIMITS[each] for each in tasks if each in LIMITS), "")


def default_limit(module: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The `wait_timeout` of a state of a system whose variable is not given: all its states share one module, which has
    one default for them."""
    limit = limit_of(module, arguments)
    return {"wait_timeout": table()[limit].option["default"]} if limit else {}


@cache
def variables_of(module: str, options: frozenset[str], *, shared: bool) -> Mapping[str, str]:
    """The variable of each of the options of a module that has one; with `shared`, only those that all tasks share."""
    return {
        option: each.name
        for each in table().values()
        if each.shared or (each.playbooks and not shared)
        for option in _options_of(each, module)
        if option in options
    }


def _options_of(variable: Variable, module: str) -> Iterator[str]:
    """The options of a module that a variable gives, if it has them."""
    own = variable.name.removeprefix(PREFIX)
    if variable.option_of is None:
        yield from () if module in variable.not_of else (own,)
        return
    for each in variable.option_of:
        name, _dot, option = each.partition(".")
        if name == module:
            yield option or own


def value_of(name: str, given: GivenVariables) -> Any:
    """The value of a variable: a connection with its flat variables in it, and a text with commas as a list."""
    if name in CONNECTIONS:
        names = (name, NAMESPACE, *parts_of(name))
        return merged(name, {each: value for each in names if (value := given(each)) is not None})
    value = given(name)
    return listed(value) if is_list(name) else value


def _value(name: str, given: GivenVariables, otherwise: Any) -> Any:
    """The value of a variable for an option with the default `otherwise`."""
    value = given(name)
    default = table()[name].option.get("default", otherwise)
    return default if unanswered(value) and default != otherwise else value_of(name, given)


def _of_plain_hosts(options: Collection[str], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Members on plain hosts are in no namespace, even if a file of variables for several playbooks names one."""
    own = {"namespace": None, "kept_in": "opensearch"}
    return {name: value for name, value in own.items() if name in options and name not in arguments}


def localhost(variables: Mapping[str, Any]) -> Mapping[str, Any]:
    """The variables of the controller, which has those of the whole run."""
    return OfHost(variables, LOCALHOST)


def of_batch(variables: Mapping[str, Any], host: str) -> Mapping[str, Any]:
    """The variables with the results of the tasks of a batch, given its host in the group of batches."""
    results = OfHost(variables, host).get("upgrade_batch_host")
    return OfHost(variables, results) if results else {}
