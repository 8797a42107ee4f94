"""The documentation of the modules, and the arguments in examples, roles and playbooks, against what modules accept.

The documentation is read with ansible-doc, so that the fragments are merged as users see them; the contract is the
object that a module hands to AnsibleModule.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.stateful.upgrade.plugins.module_utils.run.end import End, RunResults
from ansible_collections.stateful.upgrade.plugins.plugin_utils.batch_of_run import REPLACING
from ansible_collections.stateful.upgrade.plugins.plugin_utils.variables import PLAYBOOKS

from tests.pages.module_tasks import (
    MODULE_OF_SYSTEM,
    contract_of,
    is_of_system,
    module_defaults_in,
    named,
    variables_given_to,
)

ROOT = Path(__file__).resolve().parents[2]
COLLECTION = "stateful.upgrade"
MODULES = sorted(path.stem for path in (ROOT / "plugins" / "modules").glob("*.py") if path.stem != "__init__")
COMPARED: dict[str, Any] = {"type": "str", "required": False, "default": None, "elements": None}
"""The fields of an option in documentation and argument specification, each with the value of a missing one."""
COMPARED_LISTS = ("choices", "aliases")
TASK_FILES = sorted(
    str(path.relative_to(ROOT))
    for pattern in ("playbooks/**/*.yml", "roles/*/tasks/**/*.yml", "roles/*/handlers/**/*.yml")
    for path in ROOT.glob(pattern)
)
GROUPS = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text(encoding="utf-8"))["action_groups"]
OF_RUN: Mapping[str, Json] = {
    **{name: {"pools": [], "batch": []} for name in REPLACING},
    **{name: {"event": "completed"} for name in MODULES if "event" in contract_of(name).argument_spec},
    "upgrade_record": {
        "batch_state": "done",
        "request": "request.yml",
        "approval": "canary",
        "batch": "batch-01",
        "step": "alerts",
        "tried": {"since": 1},
    },
    "extra_member": {"pool": "data"},
    "pool_image": {"pool": "data", "image": "opensearch:3.8.0"},
    "upgrade_notice": {"state": "started"},
    "upgrade_request": {"source": "request.yml"},
    "tell": {"ending": {"target_version": "3.8.0"}},
    "fleet_plan": {"path": "fleet", "clusters": ["north"]},
    "cluster_upgrade": {"path": "fleet", "cluster": "north"},
    "canary_soak": {"members": ["north"], "began": "2026-01-01T00:00:00Z", "ended": "2026-01-01T01:00:00Z"},
}
"""The arguments that tasks of a role get from their run, their batch or their fleet."""
NAMES_OF_TASK_LISTS = ("block", "rescue", "always", "tasks", "pre_tasks", "post_tasks", "handlers")

Json = Mapping[str, Any]


@pytest.fixture(scope="session")
def documented(ansible_environment: Mapping[str, str]) -> dict[str, Json]:
    """The answer of ansible-doc for each module: doc, examples, return."""
    command = ["ansible-doc", "--json", "--type", "module", *(f"{COLLECTION}.{name}" for name in MODULES)]
    done = subprocess.run(command, env=dict(ansible_environment), check=False, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return {name.rpartition(".")[2]: answer for name, answer in json.loads(done.stdout).items()}


def differences(options: Json, spec: Json, path: str = "") -> Iterator[str]:
    """One sentence for each difference between the documented options and the argument specification."""
    for name in sorted(options.keys() ^ spec.keys()):
        yield f"{path}{name} is only {'documented' if name in options else 'accepted'}"
    for name in sorted(options.keys() & spec.keys()):
        doc, accepted, where = options[name], spec[name], f"{path}{name}"
        for key, silence in COMPARED.items():
            if doc.get(key, silence) != accepted.get(key, silence):
                yield f"{where}: {key} is documented as {doc.get(key)!r}, accepted as {accepted.get(key)!r}"
        for key in COMPARED_LISTS:
            if sorted(doc.get(key) or ()) != sorted(accepted.get(key) or ()):
                yield f"{where}: {key} are documented as {doc.get(key)!r}, accepted as {accepted.get(key)!r}"
        yield from differences(doc.get("suboptions") or {}, accepted.get("options") or {}, f"{where}.")


def tasks_in(node: Any, given: Json | None = None) -> Iterator[Json]:
    """All tasks in examples, whether they are in a list, in blocks or in plays, with their module_defaults."""
    for entry in node if isinstance(node, list) else []:
        inner = [name for name in NAMES_OF_TASK_LISTS if name in entry]
        defaults = {**(given or {}), **entry.get("module_defaults", {})}
        for name in inner:
            yield from tasks_in(entry[name], defaults)
        if not inner:
            yield {
                key: {**defaults_of(key, defaults), **(value or {})} if key.startswith(f"{COLLECTION}.") else value
                for key, value in entry.items()
            }


def defaults_of(module: str, defaults: Json) -> Json:
    """The options that module_defaults give to a module: those of its groups, and its own over them."""
    of_groups = [
        f"group/{COLLECTION}.{name}" for name, members in GROUPS.items() if module.rpartition(".")[2] in members
    ]
    return {
        option: value
        for target in (*of_groups, module)
        for option, value in options_given(defaults.get(target, {})).items()
    }


def options_given(value: Any) -> dict[str, Any]:
    """The options of one entry of module_defaults, which is a dictionary or a variable that holds one."""
    if value == "{{ finish_end.recorded }}":
        whole = {"before": {"status": "green"}, "green_seconds": 3}
        return dict(End(RunResults(gate=whole)).recorded())
    assert isinstance(value, dict), f"{value} is neither options nor a variable that holds them"
    return value


def stand_in(option: Json) -> Any:
    """A value of the right type for an option whose example is a template."""
    if option.get("choices"):
        return option["choices"][0]
    if option.get("type") == "dict":
        inner = option.get("options") or {}
        return {name: stand_in(each) for name, each in inner.items() if each.get("required")}
    return {"bool": True, "int": 1, "float": 1.0, "list": []}.get(option.get("type", "str"), "text")


def filled_in(arguments: Any, spec: Json) -> Any:
    """Arguments as a module would see them: a template that is all of a value becomes a value of the option's type."""
    if not isinstance(arguments, Mapping):
        return arguments
    filled = {}
    for name, value in arguments.items():
        option = spec.get(name, {})
        if isinstance(value, str) and value.startswith("{{") and value.endswith("}}"):
            filled[name] = stand_in(option)
        else:
            filled[name] = filled_in(value, option.get("options") or {})
    return filled


def errors_of(contract: Any, arguments: Json) -> list[str]:
    """The faults for which AnsibleModule would refuse these arguments."""
    validator = ArgumentSpecValidator(
        contract.argument_spec,
        mutually_exclusive=contract.mutually_exclusive,
        required_together=contract.required_together,
        required_one_of=contract.required_one_of,
        required_if=contract.required_if,
    )
    return list(validator.validate(filled_in(arguments, contract.argument_spec)).error_messages)


def test_there_are_modules() -> None:
    assert MODULES


@pytest.mark.parametrize("module", MODULES)
def test_options_are_documented_as_they_are_accepted(module: str, documented: dict[str, Json]) -> None:
    assert not list(differences(documented[module]["doc"]["options"], contract_of(module).argument_spec))


def checked_tasks(text: str, *, own: bool = False, system: str = MODULE_OF_SYSTEM) -> Iterator[str]:
    """The names of the collection's modules that these tasks or plays use; fails where one would refuse its task.

    The collection's own tasks get the options that variables give. `system` is the module of the system.
    """
    for task in tasks_in(yaml.safe_load(text)):
        for key in task:
            collection, _dot, name = key.rpartition(".")
            if collection == COLLECTION:
                assert name in MODULES, f"{key} does not exist"
                arguments = dict(task[key] or {})
                module, name = name, named(name, arguments, system)
                if is_of_system(module, arguments):
                    del arguments["part"]
                if own:
                    given_too = variables_given_to(name, arguments)
                    of_run = {} if "lines" in arguments else OF_RUN.get(name, {})
                    arguments = {**of_run, **arguments}
                    arguments |= {option: f"{{{{ {variable} }}}}" for option, variable in given_too.items()}
                assert not errors_of(contract_of(name), arguments), task.get("name")
                yield module


@pytest.mark.parametrize("module", MODULES)
def test_examples_use_what_exists(module: str, documented: dict[str, Json]) -> None:
    assert module in list(checked_tasks(documented[module]["examples"]))


def test_roles_and_playbooks_use_what_exists() -> None:
    systems = {each.role: each.module or each.role for each in PLAYBOOKS.values()}
    of_roles = {file: systems.get(Path(file).parts[1], MODULE_OF_SYSTEM) for file in TASK_FILES}
    assert [
        name
        for file, system in of_roles.items()
        for name in checked_tasks((ROOT / file).read_text(), own=True, system=system)
    ]


@pytest.mark.parametrize("module", MODULES)
def test_modes_are_documented(module: str, documented: dict[str, Json]) -> None:
    attributes = documented[module]["doc"]["attributes"]
    assert attributes["check_mode"]["support"] == "full"
    assert attributes["diff_mode"]["support"] in {"full", "none"}
    for name, attribute in attributes.items():
        assert attribute.get("description"), name


@pytest.mark.parametrize("module", MODULES)
def test_results_that_all_modules_share(module: str, documented: dict[str, Json]) -> None:
    returned = documented[module]["return"]
    assert {"verdict", "before", "actions", "next"} <= returned.keys()
    for name, value in returned.items():
        assert value.get("description"), name
        assert value.get("returned"), name


def test_the_action_group_is_all_modules_that_ask_a_server() -> None:
    assert sorted(GROUPS["all"]) == MODULES


def test_what_the_playbooks_give_to_a_group_every_module_of_it_accepts() -> None:
    for playbook in sorted((ROOT / "playbooks").glob("*.yml")):
        for target, value in module_defaults_in(yaml.safe_load(playbook.read_text())):
            name, given = target.rpartition(".")[2], options_given(value)
            # A part of a run leaves out the options of the group that it does not have.
            members = (
                [each for each in GROUPS[name] if each != "upgrade_part"] if target.startswith("group/") else [name]
            )
            refusing = [each for each in members if given.keys() - contract_of(each).argument_spec.keys()]
            assert (playbook.name, target, refusing) == (playbook.name, target, [])


def test_every_action_plugin_has_its_module() -> None:
    actions = {path.stem for path in (ROOT / "plugins" / "action").glob("*.py")}
    assert actions <= set(MODULES)


def test_differences_are_seen() -> None:
    spec = {"a": {"type": "int", "default": 1}, "b": {"type": "dict", "options": {"c": {"choices": ["x"]}}}}
    right = {"a": {"type": "int", "default": 1}, "b": {"type": "dict", "suboptions": {"c": {"choices": ["x"]}}}}
    assert not list(differences(right, spec))
    wrong = {"a": {"type": "int"}, "b": {"type": "dict", "suboptions": {"c": {"choices": ["y"]}, "d": {}}}}
    assert [found.split(":")[0] for found in differences(wrong, spec)] == ["a", "b.d is only documented", "b.c"]


def test_the_files_that_the_design_names_exist() -> None:
    named = set(re.findall(r"`([a-z_]+(?:/[a-z_]+)*\.py)`", (ROOT / "docs" / "design.md").read_text()))
    there = [path.as_posix() for folder in ("plugins", "tests") for path in (ROOT / folder).rglob("*.py")]
    assert [name for name in sorted(named) if not any(path.endswith(f"/{name}") for path in there)] == []
