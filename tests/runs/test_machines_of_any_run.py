"""What belongs to every run, on machines: window, canary with approval, request, notices and silences."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.runs.machines import CHECK, NAMESPACE, PLAYBOOK, Machines, machines, serve
from tests.runs.shipped import rights_of_machines
from tests.runs.test_machines import FROM, TO, codes, cordoned, is_upgraded
from tests.runs.world import world
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS, NODES
from tests.sandbox.kubernetes.objects import Json, timestamp
from tests.sandbox.monitoring.alertmanager import Alertmanager
from tests.sandbox.web import Request
from tests.sandbox.webhook import Webhook
from tests.scenarios.cluster import USER
from tests.scenarios.playbook import Played, digest_in

APPROVE = "stateful.upgrade.approve"
CONTROL_PLANE = ["cp-1", "cp-2", "cp-3"]
REQUEST = "machines-next"
HIDDEN = {"alertname": "KubeNodeNotReady", "severity": "warning"}


@pytest.fixture
def found() -> Iterator[Machines]:
    """Three machines of the control plane and three workers, and the user with the shipped rights."""
    with world() as here, machines(here, FROM, [TO]) as made:
        here.sandbox.apply(rights_of_machines(NAMESPACE))
        yield made


def agreed(found: Machines, **more: Any) -> dict[str, Any]:
    """The variables, with consent to the present plan."""
    given = found.variables(TO, user=USER, **more)
    shown = found.here.play(PLAYBOOK, given, *found.arguments, CHECK)
    assert shown.code == 0, shown.output
    return {**given, "upgrade_confirm": digest_in(shown)}


def played(found: Machines, given: dict[str, Any]) -> Played:
    """One run."""
    return found.here.play(PLAYBOOK, given, *found.arguments)


def done(found: Machines) -> list[str]:
    """The machines on the target."""
    return [name for name, each in found.machines.items() if each.kubelet.version == TO]


def test_a_window_that_is_over_ends_the_run_between_machines_and_the_next_one_continues(found: Machines) -> None:
    given, clock = agreed(found), found.here.sandbox.clock
    window = {"upgrade_window": 3, "upgrade_window_policy": "pause"}
    stopped = played(found, {**given, **window, "upgrade_at": timestamp(clock.now())})
    assert codes(stopped) == ["window_closed"], stopped.output
    first = done(found)
    assert 0 < len(first) < len(found.machines)
    assert cordoned(found) == []
    following = {**given, **window, "upgrade_at": timestamp(clock.now() + 3600), "upgrade_window": 60}
    early = played(found, {**following, "upgrade_wait": False})
    assert codes(early) == ["starts_later"], early.output
    assert done(found) == first
    found.here.later(3600)
    ended = played(found, following)
    assert ended.code == 0, ended.output
    is_upgraded(found)


def test_a_canary_goes_first_of_the_workers_and_the_others_wait_for_an_approval(found: Machines) -> None:
    canary = {"upgrade.stateful/canary": "true"}
    found.here.sandbox.kubernetes.server.resources.change(
        NODES, "", "worker-2", lambda node: node["metadata"].setdefault("annotations", {}).update(canary)
    )
    given = agreed(found, upgrade_approvals=[{"name": "workers", "after": 4}])
    stopped = played(found, given)
    assert stopped.code == 0, stopped.output
    assert codes(stopped) == ["approval_missing"]
    assert done(found) == [*CONTROL_PLANE, "worker-2"]
    assert cordoned(found) == []
    approved = serve(found, APPROVE, USER, upgrade_approval="workers")
    assert approved.code == 0, approved.output
    ended = played(found, given)
    assert ended.code == 0, ended.output
    assert done(found) == [*found.machines]
    assert cordoned(found) == []


def test_each_state_reaches_the_webhook_once(found: Machines) -> None:
    hook = Webhook()
    url = found.here.calling.serve(hook.answer).url
    given = agreed(found, upgrade_webhook=f"{url}/200/Never-Shown")
    assert hook.got == []
    found.machines["worker-1"].kubelet.daemons_never_ready = True
    failed = played(found, {**given, "upgrade_member_timeout": 120, "upgrade_gate_timeout": 120})
    assert codes(failed) == ["pods_not_back", "timed_out"], failed.output
    found.here.sandbox.kubernetes.faults.let_daemons("worker-1", ready=True)
    found.here.later(10)
    ended = played(found, given)
    assert ended.code == 0, ended.output
    is_upgraded(found)
    assert hook.states == ["started", "failed", "completed"]
    assert hook.got[1]["codes"] == codes(failed)
    assert "Never-Shown" not in failed.output + ended.output


def test_a_request_in_a_config_map_is_carried_out_and_answered(found: Machines) -> None:
    body = {"type": "machines", "target_version": TO, "upgrade_windw": 5}
    item: Json = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": REQUEST, "namespace": NAMESPACE},
        "data": {"request.yml": json.dumps(body)},
    }
    found.here.sandbox.apply([item])
    given = found.variables("", user=USER, upgrade_request=f"configmap/{REQUEST}")
    del given["target_version"]
    refused = played(found, given)
    assert codes(refused) == ["request_invalid"], refused.output
    assert "did you mean upgrade_window?" in refused.message
    assert done(found) == []
    del body["upgrade_windw"]
    item["data"] = {"request.yml": json.dumps(body)}
    found.here.sandbox.apply([item])
    shown = found.here.play(PLAYBOOK, given, *found.arguments, CHECK)
    ended = played(found, {**given, "upgrade_confirm": digest_in(shown)})
    assert ended.code == 0, ended.output
    is_upgraded(found)
    answered = found.here.sandbox.kubernetes.server.resources.get(CONFIG_MAPS, NAMESPACE, REQUEST)
    assert json.loads(answered["metadata"]["annotations"]["upgrade.stateful/request-state"])["state"] == "completed"


def test_alerts_are_hidden_while_machines_are_away_and_no_longer(found: Machines) -> None:
    alerts = Alertmanager(found.here.sandbox.kubernetes.clock)
    silences = {"upgrade_silences": ['alertname="KubeNodeNotReady"']}
    given = agreed(found, upgrade_alertmanager_url=found.here.calling.serve(alerts).url, **silences)
    shown = list[tuple[str, bool]]()

    def look(request: Request) -> None:
        if cordoned(found):
            shown.append((request.path, alerts.hides(HIDDEN)))

    found.here.calling.after = look
    ended = played(found, given)
    assert ended.code == 0, ended.output
    assert shown
    assert [path for path, hidden in shown if not hidden] == []
    assert alerts.active() == set()
