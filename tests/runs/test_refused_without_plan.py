"""An upgrade that is refused before it begins: its codes are metrics, and its pools have an event each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runs.test_openshift import codes
from tests.runs.test_openshift_validation import Figures
from tests.runs.world import CalledCluster, World, world
from tests.sandbox.web import Request
from tests.sandbox.webhook import Webhook
from tests.scenarios.branches.test_restart import RESTART
from tests.scenarios.playbook import PLAN, PLAYBOOK
from tests.scenarios.preconditions import events_of

AWAY = {"upgrade_opensearch": {"hosts": ["http://127.0.0.1:9"]}}
FROM, TO = "2.19.6", "3.8.0"
CASES = [
    ("3.8", "version_unreadable", "Give a released version"),
    ("3.8.0-rc1", "pre_release", "3.8.0-rc1"),
]


@pytest.fixture(scope="module")
def here() -> Iterator[World]:
    """One world for all tests of this module, each with a cluster of its own."""
    with world() as made:
        yield made


class Measured(Figures):
    """A cluster whose runs write metrics."""

    def __init__(self, here: World, folder: Path) -> None:
        self.cluster: CalledCluster = here.cluster(FROM)
        self.folder = folder

    def variables(self, version: str, **more: Any) -> dict[str, Any]:
        """Those of an upgrade."""
        return {**self.cluster.variables(version), "upgrade_metrics_path": str(self.folder), **more}

    def events_of_pools(self) -> list[str]:
        """The messages of the refusals among the events of the pool."""
        events = events_of(self.cluster, f"{self.cluster.name}-members")
        return [event.message for event in events if event.reason == "UpgradeRefused"]


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize(("version", "code", "said"), CASES)
def test_a_refusal_without_a_plan_is_a_metric_and_an_event(
    here: World, tmp_path: Path, version: str, code: str, said: str, named: bool
) -> None:
    measured = Measured(here, tmp_path)
    own = {"upgrade_pools": [f"{measured.cluster.name}-members"]} if named else {}
    refused = here.play(PLAYBOOK, measured.variables(version, **own))
    assert codes(refused) == [code], refused.output
    assert measured.figures("reason", "code") == {code}
    (event,) = measured.events_of_pools()
    assert said in event
    assert here.play(PLAYBOOK, here.confirmed(measured.variables(TO))).code == 0
    assert measured.figures("reason", "code") == set()
    figures = measured.figures("phase", "phase")
    assert codes(here.play(PLAYBOOK, measured.variables(version))) == [code]
    assert (measured.figures("reason", "code"), measured.figures("phase", "phase")) == ({code}, figures)


def test_the_metric_of_a_refusal_stays_when_its_notice_is_noted(here: World, tmp_path: Path) -> None:
    measured = Measured(here, tmp_path)
    assert here.play(PLAYBOOK, here.confirmed(measured.variables(TO))).code == 0
    hook = measured.variables("3.8.0-rc1", upgrade_webhook=f"{here.calling.serve(Webhook().answer).url}/200")
    assert codes(here.play(PLAYBOOK, hook)) == ["pre_release"]
    assert measured.figures("reason", "code") == {"pre_release"}


def test_a_restart_without_a_plan_is_named_as_one_in_its_notices(here: World, tmp_path: Path) -> None:
    given, hook = Measured(here, tmp_path).variables(""), Webhook()
    del given["target_version"]
    given["upgrade_webhook"] = f"{here.calling.serve(hook.answer).url}/200"
    here.play(RESTART, {**given, **AWAY, "upgrade_wait": False})
    assert codes(here.play(RESTART, {**given, "upgrade_pools": ["none"]})) == ["pool_unknown"]
    said = [f"The restart of {given['upgrade_namespace']} is {state}: " for state in ("waiting", "refused")]
    assert [each["text"].startswith(begin) for each, begin in zip(hook.got, said, strict=True)] == [True, True]


@pytest.mark.parametrize("waits", [True, False])
def test_a_cluster_that_cannot_be_reached_is_a_metric_of_the_only_record(
    here: World, tmp_path: Path, waits: bool
) -> None:
    measured = Measured(here, tmp_path)
    given = measured.variables(TO, upgrade_wait=waits)
    assert here.play(PLAYBOOK, here.confirmed(measured.variables(TO))).code == 0
    found = codes(here.play(PLAYBOOK, {**given, **AWAY}))
    assert "opensearch_unreachable" in found
    assert measured.figures("reason", "code") == {*found}
    assert measured.figures("phase", "phase") == {"Completed"}
    assert here.play(PLAYBOOK, given).code == 0
    assert measured.figures("reason", "code") == set()


def test_a_run_that_cannot_begin_under_the_lock_is_a_metric(here: World, tmp_path: Path) -> None:
    measured = Measured(here, tmp_path)
    given = here.confirmed(measured.variables(TO))
    before = here.calling.after

    def spoil(request: Request) -> None:
        if request.method == "POST" and request.path.endswith("/leases"):
            unreadable = {"persistent": {"cluster.metadata.stateful_upgrade.undo": "{"}}
            measured.cluster.ask("/_cluster/settings", "PUT", unreadable)

    here.calling.after = spoil
    refused = here.play(PLAYBOOK, given)
    here.calling.after = before
    assert codes(refused) == ["undo_not_readable"], refused.output
    assert measured.figures("reason", "code") == {"undo_not_readable"}


def test_a_plan_that_is_only_shown_announces_nothing(here: World, tmp_path: Path) -> None:
    measured = Measured(here, tmp_path)
    assert codes(here.play(PLAN, measured.variables("3.8.0-rc1"))) == ["pre_release"]
    assert codes(here.play(PLAYBOOK, measured.variables("3.8.0-rc1"), "--check")) == ["pre_release"]
    assert ([*tmp_path.iterdir()], measured.events_of_pools()) == ([], [])
