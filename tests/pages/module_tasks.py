"""The tasks of roles and playbooks with modules of the collection, and the options that they get from variables."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.stateful.upgrade.plugins.module_utils.entry.parts import OF_SYSTEM, PARTS
from ansible_collections.stateful.upgrade.plugins.plugin_utils.run_options import limit_of, variables_of
from ansible_collections.stateful.upgrade.plugins.plugin_utils.variables import PLAYBOOKS

MODULE_OF_SYSTEM = "upgrade_plan"
"""The module of a system that stands for that of every system."""
MODULE = "ansible_collections.stateful.upgrade.plugins.modules."


def contract_of(module: str) -> Any:
    """The contract that a module hands to AnsibleModule, or that of a part of a run."""
    is_module = importlib.util.find_spec(MODULE + module) is not None
    return (importlib.import_module(MODULE + module) if is_module else PARTS[module]).CONTRACT


def named(module: str, arguments: Mapping[str, Any], system: str = MODULE_OF_SYSTEM) -> str:
    """The name by which a task of the collection gets its options: that of its module, or of its part of a run.

    `system` is the module of the system.
    """
    part = str(arguments.get("part"))
    if is_of_system(module, arguments):
        return system
    return part if module == "upgrade_part" and part in PARTS else module


def is_of_system(module: str, arguments: Mapping[str, Any]) -> bool:
    """Whether a task is the module of the system, whichever that is."""
    return module == "upgrade_part" and arguments.get("part") == OF_SYSTEM


def variables_given_to(module: str, arguments: Mapping[str, Any]) -> dict[str, str]:
    """The name of the variable by option, for a task of the collection with these arguments."""
    spec = contract_of(module).argument_spec
    found = dict(variables_of(module, frozenset(spec), shared=False)) if "from_variables" in spec else {}
    limit = limit_of(module, arguments)
    return {
        option: name
        for option, name in (found | ({"wait_timeout": limit} if limit else {})).items()
        if option not in arguments
    }


def module_defaults_in(node: Any) -> Iterator[tuple[str, Any]]:
    """(group or module, its options) of plays and tasks, also inside blocks."""
    for entry in node if isinstance(node, list) else []:
        defaults: Mapping[str, Any] = entry.get("module_defaults", {})
        yield from defaults.items()
        for key in ("tasks", "block", "rescue", "always"):
            yield from module_defaults_in(entry.get(key))


def module_tasks(node: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(module, options) of the collection's modules, also inside plays and blocks, but for the module of the system."""
    for entry in node if isinstance(node, list) else []:
        for key, value in entry.items():
            if key.startswith("stateful.upgrade.") and not is_of_system(key.rpartition(".")[2], value or {}):
                yield named(key.rpartition(".")[2], value or {}), value or {}
            elif key in {"block", "rescue", "always", "tasks"}:
                yield from module_tasks(value)


def handed_to_system(role: str) -> Iterator[tuple[str, str, str]]:
    """(variable, module, option) for what variables give to the module of the system that has this role."""
    for module in {each.module for each in PLAYBOOKS.values() if each.role == role and each.module}:
        yield from ((name, module, option) for option, name in variables_given_to(module, {}).items())


def handed_by(path: Path) -> Iterator[tuple[str, str, str]]:
    """(variable, module, option) for what variables give to the tasks of a file."""
    for module, arguments in module_tasks(yaml.safe_load(path.read_text(encoding="utf-8"))):
        yield from ((name, module, option) for option, name in variables_given_to(module, arguments).items())
