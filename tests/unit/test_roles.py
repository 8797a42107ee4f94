"""The argument specifications of the roles against the variables that their tasks use, and the modules they go to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.stateful.upgrade.plugins.lookup.input_faults import specified
from ansible_collections.stateful.upgrade.plugins.plugin_utils import inputs
from ansible_collections.stateful.upgrade.plugins.plugin_utils.connection_inputs import parts_of
from ansible_collections.stateful.upgrade.plugins.plugin_utils.variables import (
    EVERY,
    PLAYBOOKS,
    names,
    table,
    taken_by,
)

from tests.pages.module_tasks import contract_of, handed_by, handed_to_system, module_tasks
from tests.pages.specifications import READ, SHELLS, named_in, read_by, texts

ROOT = Path(__file__).resolve().parents[2]
SYSTEMS = ("longhorn", "machines", "openshift", "opensearch", "restart", "restart_hosts")
"""The roles with which systems fill these."""
ROLES = sorted((*SHELLS, *SYSTEMS, "fleet"))
MEMBER_ROLES = sorted(path.name for path in (ROOT / "roles").glob("member_*"))
STEPS = ("prepare", "stop", "install", "start")
FURTHER = {"member_service": ("look", "forget")}
"""The steps of a role in addition to these, since only a restart takes them."""
OF_MACHINES = dict.fromkeys(
    ("member_delegated", "member_kubeadm", "member_os_image"), ("look", "prepare", "before_drain", "after_drain")
)
"""The steps of a role for machines, which stay up."""
HANDED_OVER = re.compile(r"^\{\{ (\w+)(?: \| default\((omit|\d+|true|false|\[\]|'none')(?:, true)?\))? \}\}$")
"""A task's option that is one variable, handed to a module as it is."""
MADE = inputs.made_by_runs()
OF_PLAIN_HOSTS = frozenset({"upgrade_groups", "upgrade_member_role"})
"""Variables of the shells for a system whose members run on hosts of the inventory."""
HANDED_ON = frozenset(
    {"upgrade_alertmanager", "upgrade_kubernetes", "upgrade_opensearch", "upgrade_prometheus", "upgrade_push_gateway"}
)
"""Variables that the playbook hands to every module; to groups of them it hands others, see `handed_to_groups`."""
FLAT = frozenset(name for connection in HANDED_ON for name in parts_of(connection))
"""A variable for each option of these."""
OF_PLAYBOOKS = frozenset({"upgrade_record_retention", "upgrade_request"})
"""Variables that the first tasks of a playbook read, and no role."""
TOLD = inputs.results()
SHARED = names(lambda each: each.shared)
"""Variables that give an option to every task that has it."""
OF_EVERY_SYSTEM = {each.name: each.option for each in taken_by(EVERY)}
COMPARED = ("type", "elements")

Json = Mapping[str, Any]


def specification(role: str) -> Json:
    """The options of the role's entry points, which say the same of an option that several have."""
    options: dict[str, Any] = {}
    for entry in entry_points(role).values():
        for name, option in entry["options"].items():
            assert options.setdefault(name, option) == option, (role, name)
    return options


@cache
def entry_points(role: str) -> Json:
    """The role's argument specifications."""
    text = (ROOT / "roles" / role / "meta" / "argument_specs.yml").read_text(encoding="utf-8")
    entries: Json = yaml.safe_load(text)["argument_specs"]
    return entries


def handed_over(role: str) -> Iterator[tuple[str, str, str, str | None]]:
    """(variable, module, option, default) wherever a task hands a variable of the role to a module.

    Without a default it is the module's own, or that of the variable.
    """
    for path in sorted((ROOT / "roles" / role / "tasks").glob("*.yml")):
        for module, options in module_tasks(yaml.safe_load(path.read_text(encoding="utf-8"))):
            for option, value in (options or {}).items():
                found = HANDED_OVER.match(value) if isinstance(value, str) else None
                if found and READ.fullmatch(found[1]):
                    yield found[1], module, option, found[2]
        yield from ((*each, None) for each in handed_by(path) if each[0] not in HANDED_ON | MADE)
    yield from ((*each, None) for each in handed_to_system(role) if each[0] not in HANDED_ON | MADE)


@pytest.mark.parametrize("role", SHELLS)
def test_every_variable_of_a_shell_is_documented(role: str) -> None:
    used = read_by(role) - TOLD - HANDED_ON - FLAT
    assert used - MADE <= specification(role).keys()
    assert specification(role).keys() <= used | MADE | HANDED_ON | OF_PLAYBOOKS


@pytest.mark.parametrize("role", SYSTEMS)
def test_every_variable_of_a_system_is_documented(role: str) -> None:
    of_shells = {name for shell in SHELLS for name in specification(shell)}
    assert named_in(role) - TOLD - MADE - of_shells <= specification(role).keys()
    used = read_by(role)
    # It takes the steps of a batch from the other system for plain hosts.
    used |= read_by("opensearch") if role == "restart_hosts" else set()
    assert specification(role).keys() <= used | of_shells | SHARED | HANDED_ON | OF_PLAYBOOKS


def test_the_run_itself_plans_begins_and_ends() -> None:
    """A further system costs its role, its playbook, and a line in the table."""
    own = {each.module for each in PLAYBOOKS.values()}
    for role in SYSTEMS:
        tasks = ROOT / "roles" / role / "tasks"
        assert not {"plan.yml", "end.yml"} & {path.name for path in tasks.iterdir()}, role
        for path in tasks.glob("*.yml"):
            called = {module for module, _options in module_tasks(yaml.safe_load(path.read_text(encoding="utf-8")))}
            assert not called & own, path


def test_no_shell_knows_a_system() -> None:
    words = re.compile(r"shard|alloc|opensearch|elected|(?<!alert)manager|indices|pod_", re.IGNORECASE)
    for role in SHELLS:
        for text in texts(role):
            assert not words.search(text), (role, words.search(text))


def test_settling_leaves_the_added_machines_while_the_added_member_could_not_go() -> None:
    """A machine may have its volume with the last copy of a shard, although its pod is gone."""
    tasks = yaml.safe_load((ROOT / "roles" / "opensearch" / "tasks" / "settle.yml").read_text(encoding="utf-8"))
    machines = next(each for each in tasks if "stateful.upgrade.extra_machines" in each)
    member = next(each for each in tasks if each.get("stateful.upgrade.upgrade_part", {}).get("part") == "extra_member")
    assert tasks.index(member) < tasks.index(machines)
    assert f"{member['register']}.verdict.state | default('passed') == 'passed'" in machines["when"]


def made_by(role: str) -> set[str]:
    """The variables that a role has made itself: those of its folder vars, those of tasks, and results."""
    folder = ROOT / "roles" / role
    variables = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in folder.glob("vars/main.yml")]
    own = {name for each in variables for name in each}
    texts = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("tasks/**/*.yml"))
    registered = re.findall(r"^ *register: (\w+)$", texts, flags=re.MULTILINE)
    return {*own, *registered, *re.findall(rf"^ +({role}_\w+):", texts, flags=re.MULTILINE)}


@pytest.mark.parametrize("role", MEMBER_ROLES)
def test_a_role_for_members_has_every_step_and_documents_its_variables(role: str) -> None:
    entries = entry_points(role)
    steps = OF_MACHINES.get(role) or (*STEPS, *FURTHER.get(role, ()))
    assert tuple(entries) == steps
    text = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "roles" / role / "tasks").glob("*.yml")}
    assert text.keys() == set(steps)
    known = yaml.safe_load((ROOT / "roles" / role / "defaults" / "main.yml").read_text(encoding="utf-8"))
    for name, option in specification(role).items():
        if "default" in option:
            assert known[name] == option["default"], name
    assert known.keys() <= specification(role).keys()
    used = {name for each in text.values() for name in re.findall(rf"\b{role}_\w+", each)}
    if role in OF_MACHINES:
        assert used - made_by(role) <= specification(role).keys()
        return
    made = {
        "package_proof",
        "package_proven",
        "package_wanted",
        "service_seen",
        "tarball_found",
        "tarball_home",
        "tarball_whole",
    }
    assert used - {f"member_{name}" for name in made} <= specification(role).keys()


@pytest.mark.parametrize("role", ROLES)
def test_types_and_defaults_are_those_of_the_modules(role: str) -> None:
    documented = {**(OF_EVERY_SYSTEM if role in SYSTEMS else {}), **specification(role)}
    handed = [each for each in handed_over(role) if each[0] in documented]
    assert handed or role in (*SHELLS, "fleet")
    for variable, module, option, default in handed:
        # The plan takes the options of every run; a run on plain hosts makes no single pass.
        if variable in MADE or (role, variable) in (("restart_hosts", "upgrade_wait"), ("machines", "upgrade_wait")):
            continue
        said, where = documented[variable], (variable, module, option)
        contract = contract_of(module).argument_spec[option]
        for key in COMPARED:
            assert said.get(key) == contract.get(key), (*where, key)
        assert sorted(said.get("choices", [])) == sorted(contract.get("choices", [])), where
        if not said.get("required") and default is not None:
            assert said.get("default") == (contract.get("default") if default == "omit" else yaml.safe_load(default)), (
                where
            )


def test_what_several_roles_say_of_a_variable_agrees() -> None:
    for role in ROLES:
        for name, option in specification(role).items():
            known = specification("opensearch").get(name, option)
            said = ("type", "elements", "choices")
            assert [option.get(each) for each in said] == [known.get(each) for each in said], (role, name)


def test_the_role_of_a_system_knows_every_variable_that_a_user_gives() -> None:
    for system in SYSTEMS:
        without = MADE if system == "opensearch" else MADE | OF_PLAIN_HOSTS
        # A restart leads to no version that a user names.
        without |= {"target_version"} if system.startswith("restart") else set()
        # These systems have one place for their lock.
        without |= (
            {"upgrade_lock_kept_in"} if system in ("longhorn", "machines", "openshift", "restart_hosts") else set()
        )
        # A node is switched within a time limit of its own.
        without |= {"upgrade_batch_timeout"} if system in ("longhorn", "machines") else set()
        # Tasks of the user that stop members do not end in the middle of a pass.
        without |= {"upgrade_wait"} if system in ("machines", "restart_hosts") else set()
        # The machines of the others are not asked for in a management cluster.
        without |= set() if system in ("opensearch", "machines") else {"upgrade_management"}
        # The check of the inputs takes these for every system from the shells.
        without |= OF_EVERY_SYSTEM.keys()
        assert {name for role in SHELLS for name in specification(role)} - without <= specification(system).keys()
        assert not specification(system).keys() & MADE


@pytest.mark.parametrize("system", SYSTEMS)
def test_no_system_takes_a_variable_that_its_runs_never_read(system: str) -> None:
    always = {*HANDED_ON, *SHARED}
    always |= {name for role in (*SHELLS, system) for name in read_by(role)}
    for shell in SHELLS:
        for path in (ROOT / "roles" / shell).glob("*/*.yml"):
            if path.parent.name != "meta":
                always |= {*READ.findall(re.sub(r"^\s*#.*$", "", path.read_text("utf-8"), flags=re.MULTILINE))}
    own = entry_points(system)
    for entry, options in specified(f"stateful.upgrade.{system}").items():
        idle = {each.name for each in table().values() if each.goes_with and not {*each.goes_with} & options.keys()}
        read = always - idle
        read |= OF_PLAYBOOKS if "upgrade_request" in options else set()
        assert options.keys() - own[entry]["options"].keys() <= read, entry


NAMED = re.compile(r"`(upgrade_\w+)(?:=\w+)?`")
MODULES = frozenset(path.stem for path in (ROOT / "plugins" / "modules").glob("upgrade_*.py"))
BESIDE = frozenset({"upgrade_member"})
"""The variable of a host in the inventory."""


def test_every_option_of_a_connection_has_a_place_in_the_documentation() -> None:
    assert set(NAMED.findall((ROOT / "docs" / "connections.md").read_text(encoding="utf-8"))) >= FLAT


@pytest.mark.parametrize(
    "page", ["README.md", *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md")))]
)
def test_what_the_documentation_names_is_there(page: str) -> None:
    known = {*table(), *FLAT, *MODULES, *BESIDE}
    text = (ROOT / page).read_text(encoding="utf-8")
    codes = (
        set(re.findall(r"^\| `(\w+)` \|", text, flags=re.MULTILINE)) if page == "docs/reference/reasons.md" else set()
    )
    assert set(NAMED.findall(text)) - known - codes == set()


def test_what_a_playbook_uses_is_documented() -> None:
    known = {*table(), *FLAT, *BESIDE}
    for path in sorted((ROOT / "playbooks").rglob("*.*")):
        text = re.sub(r"stateful\.upgrade\.\w+", "", path.read_text(encoding="utf-8"))
        assert set(re.findall(r"\bupgrade_\w+", text)) <= known, path.name
