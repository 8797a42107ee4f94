"""Upgrades of OpenShift that the templates of AWX start, and the Job and the CronJob of extensions/gitops."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.awx.configuration import PROJECT, Configuration
from tests.awx.jobs import AutomationController, Job
from tests.kustomization import built, containers_of
from tests.runs.openshift import NAMESPACE, SYSTEM, shipped_rights
from tests.runs.test_openshift import TARGET, CalledOpenShift
from tests.runs.turns import Killed
from tests.runs.world import World
from tests.sandbox.kubernetes.objects import Json
from tests.scenarios.branches.test_passes import statistics
from tests.scenarios.cluster import USER
from tests.scenarios.playbook import PLAN, digest_in

GITOPS = Path(__file__).parents[2] / "extensions" / "gitops"
ANSWERS = {"target_version": TARGET, "upgrade_channel": "", "upgrade_accept_risks": ""}
"""The answers of a survey whose other questions were left as they are."""
MOST = 60
"""More passes than an upgrade of this size needs."""


class CalledController(AutomationController):
    """It plays the project of a configuration in this process."""

    def __init__(self, cluster: CalledOpenShift) -> None:
        given = cluster.variables()
        own = {name: given[name] for name in ("upgrade_namespace", "upgrade_kubernetes")}
        super().__init__(Configuration.read(site_variables={**own, **SYSTEM}), {}, Path(), {})
        self._here = cluster.here

    def ended(self, template: Mapping[str, Any], variables: Mapping[str, Any]) -> Job:
        """See `AutomationController`."""
        played = self._here.play(str(PROJECT / template["playbook"]), variables)
        said = {"artifact_data": statistics(played)} if "RUN: " in played.output else {}
        events = [{"event_data": said, "stdout": played.output}]
        return Job(template["name"], "failed" if played.code else "successful", events, Path())

    def named(self, name: str, **artifacts: Any) -> Job:
        """The end of a job of a template, with the answers of its survey."""
        template = self.configuration.template(name)
        return self.launch(template, ANSWERS if template.get("survey_enabled") else {}, **artifacts)


def test_the_workflow_of_awx_shows_the_plan_and_carries_it_out(here: World) -> None:
    cluster = CalledOpenShift(here)
    awx, shown = CalledController(cluster), list[str]()

    def approve(planned: Job) -> bool:
        shown.append(planned.artifacts["upgrade_plan_text"])
        return True

    assert awx.run(awx.configuration.workflow, ANSWERS, approve) == "successful"
    assert ["pause of 1 pool" in each for each in shown] == [True]
    assert awx.jobs[-1].artifacts["upgrade_state"] == "done"
    cluster.is_upgraded()
    status = awx.named("status")
    assert (status.status, f"to {TARGET}" in status.output) == ("successful", True), status.output


def test_the_templates_of_awx_stop_settle_and_go_on_with_an_upgrade(here: World) -> None:
    cluster = CalledOpenShift(here)
    awx = CalledController(cluster)
    consent = {"upgrade_confirm": awx.named("plan").artifacts["upgrade_confirm"]}
    with here.killing_behind(20), pytest.raises(Killed):
        awx.named("upgrade", **consent)
    cluster.openshift.clock.advance(120)
    assert cluster.paused() == ["worker"]
    assert awx.named("abort").status == "successful"
    assert awx.named("upgrade, one pass", **consent).artifacts["upgrade_reasons"] == ["aborted_on_request"]
    assert awx.named("resume").status == "successful"
    settled = awx.named("settle a failed upgrade")
    assert settled.status == "failed"
    assert cluster.paused() == []
    assert cluster.openshift.until(cluster.openshift.upgrade_done)
    passed = awx.named("upgrade, one pass", **consent)
    assert passed.artifacts["upgrade_state"] == "done", passed.output
    assert cluster.on_target() == {node.name for each in cluster.described.pools for node in each.nodes}


def of_account(objects: list[Json]) -> list[Json]:
    """The rights among the objects of a folder, given to the user of the tests instead of its account."""
    rights = [each for each in objects if each["kind"].endswith(("Role", "Binding"))]
    user = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER}
    return [{**each, "subjects": [user]} if "subjects" in each else each for each in rights]


@pytest.mark.parametrize("runner", ["job", "cronjob"])
def test_the_job_and_the_passes_of_the_cron_job_upgrade_with_their_own_rights(here: World, runner: str) -> None:
    """Each starts its container's own command, with the variables of the example and the rights of the account."""
    cluster = CalledOpenShift(here)
    objects = built(GITOPS / "examples" / "openshift", {"../../job": f"../../{runner}"})
    here.sandbox.apply([{**each, "rules": []} for each in shipped_rights() if "rules" in each])
    here.sandbox.apply(of_account(objects))
    (container,) = containers_of(objects)
    words = container["args"]
    for each in container["env"]:
        # The kubelet fills them in. The one without a value is that of the namespace.
        words = [word.replace(f"$({each['name']})", each.get("value", NAMESPACE)) for word in words]
    assert words[:4] == ["ansible-playbook", "stateful.upgrade.openshift", "-e", "@/upgrade/upgrade.yml"]
    (variables,) = (each["data"]["upgrade.yml"] for each in objects if each["kind"] == "ConfigMap")
    extra = dict(word.split("=", 1) for word in words[4:] if word != "-e")
    kubernetes = cluster.variables()["upgrade_kubernetes"]
    given = {**yaml.safe_load(variables), **extra, "upgrade_kubernetes": kubernetes}
    refused = here.play(words[1], given)
    assert statistics(refused)["upgrade_reasons"] == ["not_confirmed"]
    given["upgrade_confirm"] = digest_in(here.play(PLAN, {**cluster.variables(), **SYSTEM}))
    states = list[str]()
    while states[-1:] != ["done"]:
        assert len(states) < MOST, states
        ended = here.play(words[1], given)
        assert ended.code == 0, ended.output
        states.append(statistics(ended)["upgrade_state"])
        cluster.openshift.clock.advance(60)
    assert (len(states) > 1) == (runner == "cronjob")
    cluster.is_upgraded()
