"""AWX and Kubernetes as schedulers of jobs whose ends a test plays, behind the real clients of the collection."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import yaml
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.awx_job import AwxJobs
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.awx_server import AwxServer
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.kubernetes_job import KubernetesJobs
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.launching import Launcher

from tests.awx.server import TOKEN, Awx, Template
from tests.sandbox.kubernetes.in_process import InProcess

ROOT = Path(__file__).resolve().parents[5]
SURVEY = ("target_version", "upgrade_confirm")
JOBS = "/apis/batch/v1/namespaces/upgrades/jobs"
PODS = "/api/v1/namespaces/upgrades/pods"


class Scheduler(Protocol):
    """A scheduler whose jobs a test plays."""

    def launcher(self) -> Launcher: ...

    def names(self) -> list[str]: ...

    def given(self, name: str) -> dict[str, Any]: ...

    def end(self, name: str, ok: bool, output: str, **statistics: Any) -> None: ...

    def lose_launch(self) -> None: ...

    def prepare(self) -> None: ...


@dataclass
class OfAwx:
    """AWX."""

    url: str
    awx: Awx = field(default_factory=lambda: Awx([Template(7, "north upgrade", SURVEY)]))

    def options(self, **more: Any) -> dict[str, Any]:
        return {"url": self.url, "token": TOKEN, "ca_cert": None, "validate_certs": True, "request_timeout": 5, **more}

    def launcher(self) -> Launcher:
        return AwxJobs(AwxServer(self.options()), "north upgrade")

    def names(self) -> list[str]:
        return [str(each.id) for each in self.awx.jobs]

    def given(self, name: str) -> dict[str, Any]:
        return self.awx.jobs[self.names().index(name)].extra_vars

    def end(self, name: str, ok: bool, output: str, **statistics: Any) -> None:
        self.awx.jobs[self.names().index(name)].end("successful" if ok else "failed", output, **statistics)

    def lose_launch(self) -> None:
        self.awx.lose_launches = 1

    def prepare(self) -> None:
        pass


@dataclass
class OfKubernetes:
    """Kubernetes, with the CronJob that is shipped."""

    api: InProcess = field(default_factory=lambda: InProcess(namespaces=("upgrades",)))

    def prepare(self) -> None:
        path = ROOT / "extensions" / "gitops" / "fleet" / "cronjob.yaml"
        self.api.put_there(f"{JOBS.replace('jobs', 'cronjobs')}/stateful-upgrade", yaml.safe_load(path.read_text()))

    def launcher(self) -> Launcher:
        return KubernetesJobs(self.api.client(), "upgrades", "stateful-upgrade", "north", "opensearch")

    def names(self) -> list[str]:
        return [path.rpartition("/")[2] for path in self.api.objects if path.startswith(f"{JOBS}/")]

    def given(self, name: str) -> dict[str, Any]:
        container = self.api.objects[f"{JOBS}/{name}"]["spec"]["template"]["spec"]["containers"][0]
        assert container["args"][:2] == ["ansible-playbook", "stateful.upgrade.$(SYSTEM)"]
        found: dict[str, Any] = json.loads(container["args"][-1].replace("$$", "$"))
        return found

    def end(self, name: str, ok: bool, output: str, **statistics: Any) -> None:
        """End the pod and the Job, as the kubelet and the Job controller leave them."""
        job = self.api.objects[f"{JOBS}/{name}"]
        ended = {"exitCode": 0 if ok else 2, "message": json.dumps(statistics) if statistics else ""}
        status = {
            "phase": "Succeeded" if ok else "Failed",
            "containerStatuses": [{"name": "upgrade", "state": {"terminated": ended}}],
        }
        pod = {"metadata": {"labels": {"job-name": name}}, "spec": job["spec"]["template"]["spec"], "status": status}
        self.api.put_there(f"{PODS}/{name}-x", pod)
        self.api.server.logs = lambda _pod, _container, _previous: output.splitlines()
        condition = {"type": "Complete" if ok else "Failed", "status": "True", "reason": "BackoffLimitExceeded"}
        job["status"] = {"conditions": [condition]}

    def lose_launch(self) -> None:
        self.api.lose_answers = 1
