"""The folders of extensions/gitops, the pipelines in them, and the definition of the image in which the runs work."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.stateful.upgrade.plugins.plugin_utils.inputs import faults

from tests.kustomization import NAME, built, containers_of, named_files

ROOT = Path(__file__).resolve().parents[2]
GITOPS = ROOT / "extensions" / "gitops"
COMPONENT = GITOPS / "openshift"
FOLDERS = sorted(path.parent for path in GITOPS.rglob(NAME) if path.parent != COMPONENT)
NAMESPACES = {"argocd": "search", "flux": "search", "openshift": "openshift-upgrade"}
APPLIED_ELSEWHERE = {
    "application.yaml",
    "application-rolling-update.yaml",
    "flux-kustomization.yaml",
    "helmrelease.yaml",
}
"""Files of the examples that the controllers of Argo CD and Flux read, and that are not in what they apply."""
PIPELINES = GITOPS / "pipelines"
DEFINITION = ROOT / "extensions" / "execution-environment" / "execution-environment.yml"

Json = dict[str, Any]


def ids(folder: Path) -> str:
    return str(folder.relative_to(GITOPS))


def load(path: Path) -> Json:
    content: Json = yaml.safe_load(path.read_text(encoding="utf-8"))
    return content


def of_kind(objects: list[Json], kind: str) -> Json:
    (found,) = (each for each in objects if each["kind"] == kind)
    return found


@pytest.mark.parametrize("folder", [*FOLDERS, COMPONENT], ids=ids)
def test_a_kustomization_names_every_file_of_its_folder(folder: Path) -> None:
    files = {path.name for path in folder.iterdir() if path.is_file()} - APPLIED_ELSEWHERE - {NAME}
    assert named_files(folder) == files


@pytest.mark.parametrize("folder", FOLDERS, ids=ids)
def test_a_folder_is_built_of_features_that_are_known(folder: Path) -> None:
    objects = built(folder)
    names = [(each["kind"], each["metadata"]["name"]) for each in objects]
    assert len(names) == len(set(names))
    if folder.parent.name == "examples":
        namespace = NAMESPACES[folder.name]
        spaces = {each["metadata"].get("namespace") for each in objects if not each["kind"].startswith("Cluster")}
        assert spaces == {namespace}
        bindings = [each for each in objects if each["kind"].endswith("Binding")]
        assert {subject["namespace"] for each in bindings for subject in each["subjects"]} == {namespace}


def test_a_feature_that_is_not_known_is_refused(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("namePrefix: a-\n")
    with pytest.raises(ValueError, match="namePrefix"):
        built(tmp_path)


def test_the_role_is_the_one_of_the_playbook_to_the_letter() -> None:
    shipped = ROOT / "roles" / "opensearch" / "files" / "role.yml"
    assert (GITOPS / "base" / "role.yaml").read_text(encoding="utf-8") == shipped.read_text(encoding="utf-8")


@pytest.mark.parametrize(("own", "shipped"), [("role", "role"), ("clusterrole", "cluster_role")])
def test_the_roles_of_openshift_are_those_of_its_playbook_to_the_letter(own: str, shipped: str) -> None:
    file = ROOT / "roles" / "openshift" / "files" / f"{shipped}.yml"
    assert (COMPONENT / f"{own}.yaml").read_text(encoding="utf-8") == file.read_text(encoding="utf-8")


def test_the_passes_are_the_job_but_for_the_waiting() -> None:
    job = of_kind(built(GITOPS / "job"), "Job")["spec"]["template"]
    passes = of_kind(built(GITOPS / "cronjob"), "CronJob")["spec"]["jobTemplate"]["spec"]["template"]
    arguments = passes["spec"]["containers"][0]["args"]
    assert arguments[-2:] == ["-e", "upgrade_wait=false"]
    del arguments[-2:]
    assert passes == job


@pytest.mark.parametrize("runner", ["job", "cronjob"])
def test_openshift_has_its_own_rights_and_playbook_and_nothing_of_opensearch(runner: str) -> None:
    objects = built(GITOPS / "examples" / "openshift", {"../../job": f"../../{runner}"})
    roles = {each["metadata"]["name"] for each in objects if each["kind"].startswith(("Role", "ClusterRole"))}
    assert roles == {"stateful-upgrade-openshift"}
    (container,) = containers_of(objects)
    assert {each["name"]: each.get("value") for each in container["env"]}["SYSTEM"] == "openshift"
    assert "envFrom" not in container
    kept = next(containers_of(built(GITOPS / runner)))
    changed = {name for name in kept if container.get(name) != kept[name]}
    assert changed == {"env", "envFrom", "image"}


@pytest.mark.parametrize("folder", ["argocd", "flux"])
def test_the_variables_of_the_examples_are_those_of_the_playbook(folder: str) -> None:
    options = load(ROOT / "roles" / "opensearch" / "meta" / "argument_specs.yml")["argument_specs"]
    entries = {name: entry["options"] for name, entry in options.items()}
    text = (GITOPS / "examples" / folder / "upgrade.yml").read_text(encoding="utf-8")
    consented: dict[str, Any] = yaml.safe_load(text.replace("# upgrade_", "upgrade_"))
    assert consented["upgrade_allow_field_managers"] == [folder]
    given = {**consented, "upgrade_namespace": "search"}
    assert faults("opensearch", given, list(given), entries) == []
    assert faults("opensearch", {**given, "upgrade_memberz": []}, list(given), entries) != []


def commands(node: Any) -> Iterator[str]:
    """The playbooks that a pipeline runs, one command each."""
    if isinstance(node, dict):
        node = list(node.values())
    if isinstance(node, list):
        for each in node:
            yield from commands(each)
    elif isinstance(node, str):
        yield from re.findall(r"^ansible-playbook [^|\n]*[^|\n ]", node, re.M)


def test_the_pipelines_run_the_same_commands() -> None:
    plan = "ansible-playbook stateful.upgrade.plan -e @upgrade.yml"
    upgrade = "ansible-playbook stateful.upgrade.opensearch -e @upgrade.yml"
    report = "ansible-playbook stateful.upgrade.report -e @upgrade.yml -e upgrade_report_path=report.md"
    assert list(commands(load(PIPELINES / "github-actions.yml"))) == [plan, upgrade, report]
    assert list(commands(load(PIPELINES / "gitlab-ci.yml"))) == [plan, upgrade, report]
    assert list(commands(load(PIPELINES / "tekton-task.yaml"))) == [upgrade, report]


def test_the_report_leaves_the_statistics_of_the_run_as_they_are() -> None:
    name = "STATEFUL_UPGRADE_STATS_FILE"
    steps = {each["name"]: each for each in load(PIPELINES / "github-actions.yml")["jobs"]["upgrade"]["steps"][1:]}
    assert steps["Report"]["env"][name] == "report.json"
    assert load(PIPELINES / "gitlab-ci.yml")["upgrade"]["after_script"][0] == f"export {name}=report.json"
    (report,) = [each for each in load(PIPELINES / "tekton-task.yaml")["spec"]["steps"] if each["name"] == "report"]
    assert report["env"] == [{"name": name, "value": "report.json"}]


def test_the_definition_of_the_image_makes_a_context(tmp_path: Path) -> None:
    pytest.importorskip("ansible_builder", reason="it is in the environment of the checks alone")
    builder = Path(sys.executable).with_name("ansible-builder")
    done = subprocess.run(
        [
            builder,
            "create",
            "--file",
            DEFINITION,
            "--context",
            tmp_path / "context",
            "--output-filename",
            "Containerfile",
        ],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    made = tmp_path / "context"
    text = (made / "Containerfile").read_text(encoding="utf-8")
    assert f'ARG EE_BASE_IMAGE="{load(DEFINITION)["images"]["base_image"]["name"]}"' in text
    assert 'ENTRYPOINT ["/opt/builder/bin/entrypoint", "dumb-init"]' in text, "PID 1 passes signals on"
    assert "USER 1000" in text, "runAsNonRoot asks for a user by number"
    collections = load(made / "_build" / "requirements.yml")["collections"]
    assert [each["name"] for each in collections] == ["stateful.upgrade"]


def test_the_image_gets_the_packages_that_the_collection_names(collections_path: Path) -> None:
    builder = pytest.importorskip("ansible_builder", reason="it is in the environment of the checks alone")
    program = Path(builder.__file__).with_name("_target_scripts") / "introspect.py"
    command = [sys.executable, str(program), "introspect", str(collections_path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    wanted = (ROOT / "meta" / "ee-requirements.txt").read_text(encoding="utf-8").splitlines()
    packages = [each.partition("  #")[0] for each in yaml.safe_load(done.stdout)["python"]]
    assert packages == [line for line in wanted if not line.startswith("#")]
