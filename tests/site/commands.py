"""The commands that the pages of the site show, and the tests that run those which no server in memory can answer."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[\w{}-]*)\n(?P<body>.*?)^ *```$", re.M | re.S)
NAME_OF_FILE = re.compile(r"\A# (?P<name>[\w./-]+)\n")
REMARK = re.compile(r"\s+# .*$")


@dataclass(frozen=True)
class Elsewhere:
    """Commands that are run by another test than that of the pages."""

    command: str
    """The beginning of the command."""
    page: str
    """The page that shows it."""
    cause: str
    """The reason why servers in memory cannot answer it."""
    test: str
    """The test that runs it, or does the same with what is there."""


_LONGHORN = "tests/scenarios/test_longhorn.py::test_all_nodes_are_switched"
_MACHINES = "tests/runs/test_machines.py::test_machines_are_upgraded_one_after_the_other"
_OPENSHIFT = "tests/runs/test_openshift.py::test_an_upgrade_at_the_worst_pace_of_the_operators"
_CLUSTER_API = "tests/unit/cluster_api/"
_KUSTOMIZATION = "tests/unit/test_gitops.py::test_a_kustomization_names_every_file_of_its_folder"
_OF_AWX = "tests/unit/test_awx.py::test_awx_knows_the_fields"
_IMAGE = "tests/unit/test_gitops.py::test_the_definition_of_the_image_makes_a_context"
_TEMPLATE = (
    "tests/scenarios/branches/test_template_changed.py::test_each_pod_is_replaced_once_and_the_pool_is_left_alone"
)
_RESTART = "tests/scenarios/branches/test_restart.py::"
_AGENT = "tests/unit/agent/test_example.py::test_the_options_of_the_example_and_of_the_page_are_those_of_the_agent"
_APPROVALS = "tests/scenarios/branches/test_approvals.py::test_an_upgrade_is_paused_and_approved_where_it_is"
_RECIPES = "tests/scenarios/branches/test_recipes.py::"
_HOPS = "tests/scenarios/test_hop.py::test_one_run_goes_through_two_hops_and_loses_nothing"
_README = "tests/scenarios/branches/test_readme.py::test_a_stranger_comes_from_an_empty_home_to_the_report"
ELSEWHERE: tuple[Elsewhere, ...] = (
    Elsewhere("kubectl apply ", "connections.md", "The test applies the installed files.", _README),
    Elsewhere("export K8S_AUTH_API_KEY=", "connections.md", "The test takes the token of that account.", _README),
    Elsewhere("ansible-galaxy collection install awx.awx", "awx.md", "It asks Galaxy.", _OF_AWX),
    Elsewhere(
        "ansible-playbook infra.aap_configuration", "awx.md", "It asks an AWX. The test knows its fields.", _OF_AWX
    ),
    Elsewhere("cd extensions/execution-environment", "gitops.md", "No container engine is there.", _IMAGE),
    Elsewhere(
        "ansible-builder build ", "gitops.md", "No container engine is there. The test makes the context.", _IMAGE
    ),
    Elsewhere("podman push ", "gitops.md", "No registry is there.", _IMAGE),
    Elsewhere(
        "kubectl ", "gitops.md", "The test builds the folders of Kustomize and looks at each file.", _KUSTOMIZATION
    ),
    Elsewhere(
        "ansible-playbook stateful.upgrade.restart ",
        "restart.md",
        "It needs a Role in addition to that of an upgrade, which the test binds.",
        f"{_RESTART}test_the_playbook_restarts_all_members_one_after_the_other",
    ),
    Elsewhere(
        "rights=",
        "restart.md",
        "The test binds the same file.",
        f"{_RESTART}test_one_process_is_restarted_once_and_its_pod_stays",
    ),
    Elsewhere(
        "kubectl ",
        "restart.md",
        "The test annotates by the API.",
        f"{_RESTART}test_those_that_are_marked_go_and_no_others",
    ),
    Elsewhere("cd ~/.ansible", "restart_agent.md", "The test reads the files where they are.", _AGENT),
    Elsewhere("kubectl ", "restart_agent.md", "The test holds the manifest to the program.", _AGENT),
    *(
        Elsewhere(
            f"ansible-playbook stateful.upgrade.{name} ", "running.md", "No upgrade is under way there.", _APPROVALS
        )
        for name in ("pause", "resume", "approve")
    ),
    Elsewhere(
        "ansible-playbook -i clusters.yml stateful.upgrade.fleet ",
        "fleet.md",
        "It needs several clusters, which the test has.",
        "tests/scenarios/branches/test_fleet.py::test_a_fleet_goes_wave_by_wave_and_stops_at_a_failure",
    ),
    Elsewhere(
        "ansible-playbook -i clusters.yml stateful.upgrade.fleet_cancel",
        "fleet.md",
        "It needs a launched job, which the test has.",
        "tests/unit/plugins/module_utils/fleet/test_launched.py::test_a_cancelled_fleet_ends_the_job_of_a_killed_run",
    ),
    *(
        Elsewhere(command, "recipes.md", "Each file has a cluster of its own in the test.", f"{_RECIPES}{test}")
        for command, test in (
            ("ansible-playbook stateful.upgrade.opensearch ", "test_one_pool"),
            ("ansible-playbook stateful.upgrade.approve ", "test_canary"),
            ("ansible-playbook stateful.upgrade.restart ", "test_new_file"),
        )
    ),
    *(
        Elsewhere(
            command,
            "way-back.md",
            "It is sent to real servers.",
            "tests/scenarios/test_way_back.py::test_each_document_is_there_again_in_a_cluster_of_the_old_version",
        )
        for command in ("export URL=", "curl ")
    ),
    Elsewhere("kubectl ", "template-changes.md", "The test changes the pool by the API.", _TEMPLATE),
    Elsewhere(
        "ansible-galaxy collection install",
        "start.md",
        "It asks Galaxy. The test installs the archive that Galaxy would have.",
        "tests/site/test_install.py::test_the_archive_installs_and_its_playbooks_are_found",
    ),
    Elsewhere(
        "pip install",
        "start.md",
        "It asks a package index, as each environment of the tests does for the same packages.",
        "tests/site/test_install.py::test_the_packages_that_are_installed_are_those_that_the_modules_import",
    ),
    Elsewhere(
        "make demo",
        "start.md",
        "Its members are real ones.",
        "tests/scenarios/test_demo.py::test_the_demo_upgrades_a_cluster_and_says_what_it_cost",
    ),
    Elsewhere(
        "curl ",
        "running.md",
        "It is sent to real servers.",
        "tests/scenarios/test_gate_checks.py::test_the_commands_of_the_documentation_put_everything_back",
    ),
    Elsewhere(
        "ansible-playbook stateful.upgrade.opensearch -e upgrade_namespace=search -e target_version=3.8.0"
        " -e upgrade_at=",
        "running.md",
        "The time on a page has passed. The test gives a later one.",
        "tests/scenarios/branches/test_schedule.py::test_an_upgrade_starts_in_its_window_and_not_before",
    ),
    Elsewhere(
        "ansible-playbook stateful.upgrade.opensearch -e upgrade_namespace=search -e upgrade_wait=false"
        " -e upgrade_request=",
        "running.md",
        "The time of its request has passed. The test requests a later one.",
        "tests/scenarios/branches/test_request.py"
        "::test_a_request_in_a_config_map_is_checked_waited_for_and_carried_out",
    ),
    Elsewhere(
        "ansible-playbook -i inventory ",
        "plain-hosts.md",
        "Its members are processes on hosts.",
        "tests/scenarios/hosts/test_hosts.py::test_nothing_is_lost_and_indices_made_all_along_hold_no_batch_up",
    ),
    Elsewhere(
        "ansible-playbook -i inventory ",
        "restart-hosts.md",
        "It needs hosts in an inventory, which the test has.",
        "tests/scenarios/branches/test_restart_hosts.py::test_a_new_configuration_comes_to_each_member",
    ),
    Elsewhere("kubectl apply ", "longhorn.md", "The shipped files are applied by the client of the tests.", _LONGHORN),
    Elsewhere("ansible-playbook stateful.upgrade.plan ", "longhorn.md", "It is run on a real API server.", _LONGHORN),
    Elsewhere(
        "ansible-playbook stateful.upgrade.longhorn ", "longhorn.md", "It is run on a real API server.", _LONGHORN
    ),
    Elsewhere("kubectl ", "machines.md", "The shipped files are applied by the client of the tests.", _MACHINES),
    Elsewhere("ansible-playbook -i inventory ", "machines.md", "It needs machines of kubeadm.", _MACHINES),
    Elsewhere(
        "podman build ",
        "cluster-api.md",
        "No container engine is there. The test starts the process.",
        f"{_CLUSTER_API}test_entry.py::test_the_process_serves_until_it_is_asked_to_end",
    ),
    Elsewhere(
        "kubectl annotate ",
        "cluster-api.md",
        "The test annotates by the API.",
        f"{_CLUSTER_API}test_service.py::test_a_failure_is_answered_until_a_person_clears_it",
    ),
    Elsewhere(
        "kubectl ",
        "cluster-api.md",
        "The test holds the manifests to each other and to the program.",
        f"{_CLUSTER_API}test_manifests.py::test_the_container_is_started_with_arguments_that_the_service_has",
    ),
    Elsewhere(
        "python3 -m cluster_api_extension work ",
        "cluster-api.md",
        "It needs a management cluster, which the test has; it takes the command from the page.",
        "tests/runs/test_machine_by_cluster_api.py::test_each_machine_is_upgraded_alone_by_the_command_of_the_page",
    ),
    Elsewhere(
        "python3 -m cluster_api_extension gate ",
        "cluster-api.md",
        "It needs a management cluster. The tests run the command line and the example of the playbook.",
        "tests/runs/test_gate_example.py::test_a_database_that_is_not_whole_is_not_fit_and_the_reason_names_it",
    ),
    Elsewhere(
        "ansible-playbook stateful.upgrade.opensearch -e upgrade_namespace=search ",
        "versions.md",
        "It needs servers of three versions.",
        _HOPS,
    ),
    Elsewhere("kubectl ", "openshift.md", "The shipped files are applied by the client of the tests.", _OPENSHIFT),
    Elsewhere("ansible-playbook stateful.upgrade.plan ", "openshift.md", "It needs an OpenShift.", _OPENSHIFT),
    Elsewhere("ansible-playbook stateful.upgrade.openshift ", "openshift.md", "It needs an OpenShift.", _OPENSHIFT),
)


def commands_in(text: str) -> list[str]:
    """The commands of a page in their order, each on one line and without its remark."""
    return [
        REMARK.sub("", line.removeprefix("$ "))
        for found in FENCE.finditer(text)
        if found["language"] == "console"
        for line in re.sub(r" *\\\n *", " ", textwrap.dedent(found["body"])).splitlines()
        if line.startswith("$ ")
    ]


def files_in(text: str) -> Iterator[tuple[str, str]]:
    """(name, text) of each file that a page shows: a block of YAML that begins with its name as a comment."""
    for found in FENCE.finditer(text):
        name = NAME_OF_FILE.match(found["body"]) if found["language"] == "yaml" else None
        if name:
            yield name["name"], found["body"]


def elsewhere(page: str, command: str) -> Elsewhere | None:
    """The entry of a command that another test runs."""
    return next((each for each in ELSEWHERE if each.page == page and command.startswith(each.command)), None)


def played(page: Path) -> list[str]:
    """The commands of a page that are run on servers in memory."""
    return [each for each in commands_in(page.read_text(encoding="utf-8")) if not elsewhere(page.name, each)]
