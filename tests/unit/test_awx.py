"""The configuration of AWX against what the playbooks take, what the code reads, and what AWX takes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from ansible_collections.stateful.upgrade.plugins.lookup.input_faults import specified
from ansible_collections.stateful.upgrade.plugins.module_utils.common.arguments import OPENSEARCH
from ansible_collections.stateful.upgrade.plugins.plugin_utils.input_values import wrong_values
from ansible_collections.stateful.upgrade.plugins.plugin_utils.inputs import SYSTEM, faults, options_of, results
from ansible_collections.stateful.upgrade.plugins.plugin_utils.variables import table
from jinja2 import StrictUndefined, sandbox
from jinja2.nativetypes import NativeEnvironment

from tests.awx.configuration import AWX, PROJECT, Configuration, questions_of, texts_in

SYSTEMS = ("opensearch", "longhorn", "openshift")


def configured(system: str) -> Configuration:
    """The configuration for a cluster of a system."""
    named = {} if system == SYSTEMS[0] else {SYSTEM: f"stateful.upgrade.{system}"}
    return Configuration.read(site_variables={"upgrade_namespace": "search", **named})


CONFIGURATION = Configuration.read()
TEMPLATES = CONFIGURATION.of("templates")
OF_SYSTEMS = [
    pytest.param(system, each, id=f"{system}-{each['playbook']}")
    for system in SYSTEMS
    for each in configured(system).of("templates").values()
]
QUESTIONS = [
    pytest.param(system, each, id=f"{system}-{each['variable']}")
    for system in SYSTEMS
    for each in {
        question["variable"]: question
        for template in configured(system).of("templates").values()
        for question in questions_of(template)
    }.values()
]
PLAYBOOKS = sorted(path.name for path in PROJECT.glob("*.yml"))
QUESTION = {"question_name", "question_description", "variable", "type", "required", "default", "choices", "min", "max"}
SECRET = re.compile(r"password|api_key|token|secret|client_key", re.IGNORECASE)
CREDENTIAL = CONFIGURATION.of("credential_types")["OpenSearch"]
FIELDS = {each["id"]: each for each in CREDENTIAL["inputs"]["fields"]}
ENVIRONMENT = CREDENTIAL["injectors"]["env"]
OF_RUNNER = "ORIGINAL_STDOUT_CALLBACK"
ROLES_ADD = {"organization", "project", "playbook", "inventory", "execution_environment", "credentials", "survey_spec"}
"""The fields of a template that the modules of awx.awx look up, or send to addresses of their own."""


def imported(playbook: str, system: str = SYSTEMS[0]) -> str:
    """The playbook of the collection that a playbook of the project imports for a cluster of a system."""
    plays = yaml.safe_load((PROJECT / playbook).read_text(encoding="utf-8"))
    given = {} if system == SYSTEMS[0] else {SYSTEM: f"stateful.upgrade.{system}"}
    filled = NativeEnvironment().from_string(plays[0]["ansible.builtin.import_playbook"]).render(given)
    collection, _dot, name = filled.rpartition(".")
    assert collection == "stateful.upgrade"
    return str(name)


def taken_by(template: Mapping[str, Any], system: str = SYSTEMS[0]) -> dict[str, Any]:
    """The variables that the playbook of a template takes, with their specification."""
    return options_of(imported(template["playbook"], system), specified(f"stateful.upgrade.{system}"))


def told(template: Mapping[str, Any]) -> list[str]:
    """The notifications that are sent when a job of the template has succeeded."""
    return [each["name"] for each in template.get("related", {}).get("notification_templates_success", [])]


def of_client(page: type) -> set[str]:
    """The fields that AWX's own client knows for an object."""
    return set(re.findall(r"['\"](\w+)['\"]", inspect.getsource(page)))


def test_templates_name_the_playbooks_of_the_project() -> None:
    assert {each["playbook"] for each in TEMPLATES.values()} == set(PLAYBOOKS)


@pytest.mark.parametrize(("system", "template"), OF_SYSTEMS)
def test_a_template_gives_only_variables_that_its_playbook_takes(system: str, template: Mapping[str, Any]) -> None:
    takes, asked = taken_by(template, system), questions_of(template)
    given = {**template["extra_vars"], **{each["variable"]: each.get("default") for each in asked}}
    playbook, entries = imported(template["playbook"], system), specified(f"stateful.upgrade.{system}")
    named = {"target_version": "1.2.3"} if asked else {}
    assert faults(playbook, {**given, **named}, given, entries) == []
    needed = {name for name, option in takes.items() if option.get("required")}
    assert needed <= given.keys()


@pytest.mark.parametrize(("system", "asked"), QUESTIONS)
def test_a_question_offers_what_the_playbook_takes(system: str, asked: Mapping[str, Any]) -> None:
    name = asked["variable"]
    option = options_of(system, specified(f"stateful.upgrade.{system}"))[name]
    choices, kind = option.get("choices"), option.get("type", "str")
    assert asked.keys() <= QUESTION
    assert asked["type"] == (
        ("multiselect" if kind == "list" else "multiplechoice") if choices else "integer" if kind == "int" else "text"
    )
    assert asked.get("choices") == choices
    if kind == "int":
        assert asked["min"] == table()[name].least
    if "default" in asked:
        assert list(wrong_values(name, asked["default"], option)) == []
        assert kind == "list" or str(asked["default"]).lower() == str(option["default"]).lower()
    assert not re.match(r"upgrade_(opensearch|kubernetes)", name), "the password could be sent to any place"


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_workflow_asks_what_its_templates_need(system: str) -> None:
    configuration = configured(system)
    asked = {each["variable"] for each in questions_of(configuration.workflow)}
    for node in configuration.workflow["simplified_workflow_nodes"]:
        template = configuration.of("templates").get(node.get("unified_job_template", ""), {})
        required = {each["variable"] for each in questions_of(template) if each["required"]}
        assert required <= asked | {"upgrade_confirm"}  # a custom statistic of the plan
        assert not template or asked | results() | {"upgrade_confirm"} <= taken_by(template, system).keys() | results()


def test_the_consent_comes_from_the_plan_and_from_nothing_that_would_win_over_it() -> None:
    workflow = CONFIGURATION.workflow
    assert "upgrade_confirm" not in {each["variable"] for each in questions_of(workflow)}
    assert "upgrade_confirm" not in workflow.get("extra_vars", {})
    assert not workflow.get("ask_variables_on_launch")


def test_the_edges_of_the_workflow() -> None:
    nodes = {each["identifier"]: each for each in CONFIGURATION.workflow["simplified_workflow_nodes"]}
    edges = {
        (name, kind): each[f"{kind}_nodes"]
        for name, each in nodes.items()
        for kind in ("success", "failure", "always")
        if each.get(f"{kind}_nodes")
    }
    assert edges == {
        ("plan", "success"): ["approval"],
        ("approval", "success"): ["upgrade"],
        ("upgrade", "failure"): ["settle"],
    }
    playbooks = {
        name: imported(TEMPLATES[each["unified_job_template"]]["playbook"])
        for name, each in nodes.items()
        if "unified_job_template" in each
    }
    assert playbooks == {"plan": "plan", "upgrade": "opensearch", "settle": "settle"}
    assert nodes["approval"]["approval_node"]["timeout"] > 0


def test_names_point_to_what_the_configuration_has() -> None:
    for template in TEMPLATES.values():
        assert template["project"] in CONFIGURATION.of("projects")
        assert template["inventory"] in CONFIGURATION.of("inventories")
        assert set(told(template)) <= CONFIGURATION.of("notifications").keys()
    assert {each["inventory"] for each in CONFIGURATION.of("hosts").values()} == CONFIGURATION.of("inventories").keys()
    assert all(name.startswith("search-prod ") for name in TEMPLATES), "each cluster has templates of its own"


def test_credentials_are_injected_as_the_variables_that_the_code_reads() -> None:
    fallbacks = {
        name: variable
        for name, option in OPENSEARCH["opensearch"]["options"].items()
        for variable in option.get("fallback", (None, []))[1][:1]
    }
    assert {name: f"OPENSEARCH_{name.upper()}" for name in FIELDS} == fallbacks
    assert ENVIRONMENT.keys() - {OF_RUNNER} == set(fallbacks.values())
    secret = {name for name, option in OPENSEARCH["opensearch"]["options"].items() if option.get("no_log")}
    assert {name for name, each in FIELDS.items() if each.get("secret")} == (secret & FIELDS.keys()) | {"client_key"}


def test_the_output_is_concise_without_an_opensearch_too() -> None:
    other = CONFIGURATION.of("credential_types")["Concise output"]
    assert (other["inputs"], other["injectors"]) == ({}, {"env": {OF_RUNNER: ENVIRONMENT[OF_RUNNER]}})


def test_awx_takes_the_injectors() -> None:
    """AWX tries each template with every field filled in, and no name in addition (CredentialTypeInjectorField)."""
    files = CREDENTIAL["injectors"]["file"]
    assert all(re.fullmatch(r"template\.[a-zA-Z_]\w*", name) for name in files)
    names = {name.partition(".")[2]: f"/{name}" for name in files}
    templates = sandbox.ImmutableSandboxedEnvironment(undefined=StrictUndefined)
    filled = {
        name: templates.from_string(template).render({**dict.fromkeys(FIELDS, "EXAMPLE"), "tower": {"filename": names}})
        for name, template in {**files, **ENVIRONMENT}.items()
    }
    assert {filled[f"OPENSEARCH_{name.upper()}"] for name in names} == set(names.values())
    assert not any(name.startswith("ANSIBLE_") for name in ENVIRONMENT)  # AWX takes none of these
    assert all(value.isascii() for value in ENVIRONMENT.values())


def test_no_secret_stands_in_the_configuration() -> None:
    for template in [*TEMPLATES.values(), CONFIGURATION.workflow]:
        assert [text for text in texts_in(template) if SECRET.search(text)] == []
    assert all(
        each["notification_configuration"]["password"] == "" for each in CONFIGURATION.of("notifications").values()
    )


def test_the_text_of_the_plan_is_sent_to_the_person_who_approves() -> None:
    (sent,) = CONFIGURATION.of("notifications").values()
    job = {"artifacts": {"upgrade_confirm": "p1", "upgrade_plan_text": "1. first\n2. second"}}
    templates = sandbox.ImmutableSandboxedEnvironment()
    body = templates.from_string(sent["messages"]["success"]["body"]).render(job=job, url="https://awx/1")
    assert body == "1. first\n2. second\n\nhttps://awx/1"
    assert told(TEMPLATES["search-prod plan"]) == [sent["name"]]


def test_awx_knows_the_fields() -> None:
    """AWX's own client names the fields of what it creates."""
    pages = pytest.importorskip("awxkit.api.pages")
    known = of_client(pages.JobTemplate) | {"name", "description", "job_type", "extra_vars"} | ROLES_ADD
    for template in TEMPLATES.values():
        assert template.keys() - {"related"} <= known
    known = of_client(pages.WorkflowJobTemplate) | {"name", "description", "organization", "survey_spec"}
    assert CONFIGURATION.workflow.keys() <= known | {"simplified_workflow_nodes"}
    kinds = inspect.getsource(pages.notification_templates)
    assert all(f"'{each['notification_type']}'" in kinds for each in CONFIGURATION.of("notifications").values())


def test_the_project_needs_no_more_than_the_collection() -> None:
    needed = yaml.safe_load((PROJECT / "collections" / "requirements.yml").read_text(encoding="utf-8"))
    assert [each["name"] for each in needed["collections"]] == ["stateful.upgrade"]
    inventory = yaml.safe_load((PROJECT / "inventory" / "localhost.yml").read_text(encoding="utf-8"))
    assert inventory == CONFIGURATION.inventory


def test_every_variable_of_the_site_is_used() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in (AWX / "configuration").glob("*.yml")}
    set_there = yaml.safe_load(texts[AWX / "configuration" / "settings.yml"])
    others = "".join(text for path, text in texts.items() if path.name != "settings.yml")
    assert [name for name in set_there if f"{name} " not in others and f"{name})" not in others] == []


def test_the_schedule_of_the_documentation_answers_its_template() -> None:
    page = (AWX.parents[1] / "docs" / "awx.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    (schedule,) = yaml.safe_load(block)["controller_schedules"]
    template = TEMPLATES[schedule["unified_job_template"]]
    required = {each["variable"] for each in questions_of(template) if each["required"]}
    assert required <= schedule["extra_data"].keys() <= {each["variable"] for each in questions_of(template)}
    assert template["extra_vars"]["upgrade_wait"] is False


def test_the_documentation_names_what_there_is() -> None:
    page = (AWX.parents[1] / "docs" / "awx.md").read_text(encoding="utf-8")
    assert len(page.splitlines()) <= 120
    named = set(re.findall(r"`(search-prod [^`]+)`", page))
    assert named <= TEMPLATES.keys() | {CONFIGURATION.workflow["name"]}
    for node in CONFIGURATION.workflow["simplified_workflow_nodes"]:
        assert f"\n| {node['identifier']} |" in page
