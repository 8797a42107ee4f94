"""Jobs and workflows that run the configuration with ansible-runner, in the way in which AWX does it.

The rules are those of AWX (in awx/main: models/mixins.py, models/workflow.py, models/credential.py, and
scheduler/dag_workflow.py). Extra variables are those of the template, then the defaults of its survey, then the custom
statistics of the jobs before, then the answers. Texts among them are never filled in. The fields of a credential that
were left empty are empty texts. A node that was cancelled is followed by those that follow a failure.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ansible_runner
import yaml
from jinja2 import sandbox

from tests.awx.configuration import PROJECT, Configuration, questions_of

LOOK = 0.2
"""Seconds between two checks of ansible-runner for a cancel: so few that a run does almost nothing in between."""
ENDED_WELL = "successful"
Approve = Callable[["Job"], bool]
"""The decision of a person, who sees the job before."""


class _Unsafe(yaml.SafeDumper):
    """Writes texts as AWX does, so that no one can have a text filled in by Ansible."""

    def represent_data(self, data: Any) -> Any:
        return self.represent_scalar("!unsafe", data) if isinstance(data, str) else super().represent_data(data)


@dataclass(frozen=True)
class Job:
    """The end of one job."""

    template: str
    status: str
    """`successful`, `failed` or `canceled`."""
    events: list[dict[str, Any]]
    directory: Path

    @property
    def artifacts(self) -> dict[str, Any]:
        """The custom statistics. A job that was cancelled has none."""
        found = [event["event_data"].get("artifact_data") or {} for event in self.events if "event_data" in event]
        return dict(next((each for each in reversed(found) if each), {}))

    @property
    def output(self) -> str:
        """The lines that the page of the job shows."""
        return "\n".join(event["stdout"] for event in self.events if event.get("stdout")).replace("\r\n", "\n")

    @property
    def written(self) -> str:
        """Everything that AWX keeps of the job."""
        return json.dumps(self.events)


@dataclass
class AutomationController:
    """Something that launches the templates of a configuration, as AWX does."""

    configuration: Configuration
    environment: Mapping[str, str]
    directory: Path
    fields: Mapping[str, str]
    """The fields of the credential of the type OpenSearch."""
    jobs: list[Job] = field(default_factory=list)
    cancelling: threading.Event = field(default_factory=threading.Event)
    """Cancels the job that runs."""

    def launch(self, template: Mapping[str, Any], answers: Mapping[str, Any], **artifacts: Any) -> Job:
        """Run a job template to its end."""
        asked = {each["variable"] for each in questions_of(template)}
        defaults = {each["variable"]: each["default"] for each in questions_of(template) if "default" in each}
        assert asked or not answers or artifacts, "AWX takes no variables that the survey does not ask for"
        given = {**template.get("extra_vars", {}), **defaults, **artifacts, **answers, "awx_job_id": len(self.jobs)}
        job = self.ended(template, given)
        self.jobs.append(job)
        return job

    def ended(self, template: Mapping[str, Any], variables: Mapping[str, Any]) -> Job:
        """The end of a job with these variables."""
        private = self.directory / f"job-{len(self.jobs)}"
        self._prepare(private, variables)
        events: list[dict[str, Any]] = []
        self.cancelling.clear()
        run = ansible_runner.run(
            private_data_dir=str(private),
            playbook=template["playbook"],
            envvars={**self._environment(private), **dict(self._injected(private))},
            cancel_callback=self.cancelling.is_set,
            event_handler=events.append,
            settings={"pexpect_timeout": LOOK},
            quiet=True,
        )
        return Job(template["name"], run.status, events, private)

    def run(self, workflow: Mapping[str, Any], answers: Mapping[str, Any], approve: Approve) -> str:
        """Run a workflow node by node, and give its end: `failed` if a node failed that no node follows."""
        nodes = {each["identifier"]: each for each in workflow["simplified_workflow_nodes"]}
        after = {name for each in nodes.values() for edge in _edges(each) for name in edge}
        waiting, artifacts, ended = [name for name in nodes if name not in after], dict[str, Any](), ENDED_WELL
        while waiting:
            node = nodes[waiting.pop(0)]
            success, failure = _edges(node)
            well = self._node(node, answers, artifacts, approve)
            waiting += success if well else failure
            ended = ended if well or failure else "failed"
        return ended

    def _node(
        self, node: Mapping[str, Any], answers: Mapping[str, Any], artifacts: dict[str, Any], approve: Approve
    ) -> bool:
        if "approval_node" in node:
            return approve(self.jobs[-1])
        job = self.launch(self.configuration.of("templates")[node["unified_job_template"]], answers, **artifacts)
        artifacts |= job.artifacts
        return job.status == ENDED_WELL

    def _prepare(self, private: Path, variables: Mapping[str, Any]) -> None:
        shutil.copytree(PROJECT, private / "project", ignore=shutil.ignore_patterns("inventory"))
        for name in ("inventory", "env"):
            (private / name).mkdir()
        (private / "inventory" / "hosts.yml").write_text(yaml.safe_dump(self.configuration.inventory))
        (private / "env" / "extravars").write_text(yaml.dump(dict(variables), Dumper=_Unsafe))

    def _environment(self, private: Path) -> dict[str, str]:
        return {
            **self.environment,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "ANSIBLE_FORCE_COLOR": "false",
        }

    def _injected(self, private: Path) -> Iterator[tuple[str, str]]:
        """The environment variables of the credential."""
        injectors = self.configuration.of("credential_types")["OpenSearch"]["injectors"]
        templates, files = sandbox.ImmutableSandboxedEnvironment(), {}  # type: tuple[Any, dict[str, str]]
        for name, template in injectors["file"].items():
            path = private / "env" / name
            path.write_text(templates.from_string(template).render(self.fields))
            files[name.partition(".")[2]] = str(path)
        for name, template in injectors["env"].items():
            yield name, templates.from_string(template).render(self.fields, tower={"filename": files})


def _edges(node: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The nodes that follow a success, and those that follow a failure."""
    always = node.get("always_nodes", [])
    return [*node.get("success_nodes", []), *always], [*node.get("failure_nodes", []), *always]
