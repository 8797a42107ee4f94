"""The deadlines of an upgrade of OpenShift: one that reports once, and one after which a run no longer waits."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runs.openshift import PLAYBOOK
from tests.runs.test_openshift import CalledOpenShift, codes
from tests.runs.world import World
from tests.sandbox.openshift.habits import Pace
from tests.sandbox.webhook import Webhook

STATUS = "stateful.upgrade.status"
SLOW = Pace(reboot=900.0, operator=400.0)
SOON = {"upgrade_control_plane_late_after": 600, "upgrade_batch_late_after": 300}


class Watched(CalledOpenShift):
    """A slow OpenShift with a webhook."""

    def __init__(self, here: World) -> None:
        super().__init__(here, pace=SLOW)
        self.hook = Webhook()
        self.url = f"{here.calling.serve(self.hook.answer).url}/200"

    def variables(self, **more: Any) -> dict[str, Any]:
        """See `CalledOpenShift`."""
        return super().variables(**{"upgrade_webhook": self.url, **SOON, **more})

    def notices(self) -> list[list[str]]:
        """The codes of the notices that something is late."""
        return [each["codes"] for each in self.hook.got if each["state"] == "delayed"]

    def late(self) -> list[str]:
        """The first members of the batches that the record has as late."""
        return [each["about"] for each in self.record()["events"] if each["kind"] == "late"]

    def conditions(self) -> dict[str, str]:
        """The message of each condition, by the record."""
        return {each["type"]: each["message"] for each in self.record()["upgrades"][-1]["conditions"]}


def test_what_is_late_is_reported_once_and_the_run_goes_on(here: World) -> None:
    cluster = Watched(here)
    ended = cluster.upgrade()
    assert ended.code == 0, ended.output
    cluster.is_upgraded()
    assert cluster.notices() == [["control_plane_late"], ["workers_late"]]
    (first, second) = [each for each in cluster.hook.got if each["state"] == "delayed"]
    late = "The batch of master-0, master-1, master-2 is late: The control plane is being updated"
    assert first["cause"].startswith(late)
    assert "The batch of worker-0 is late: Kubernetes node worker-0" in second["cause"]
    assert first["target_version"] == "4.18.2"
    assert cluster.late() == ["master-0", "worker-0", "worker-1", "worker-2"]
    assert "is late" in ended.output


def test_nothing_is_late_in_time_nor_with_zero(here: World) -> None:
    cluster = Watched(here)
    never = dict.fromkeys(SOON, 0)
    assert cluster.upgrade(**never).code == 0
    assert (cluster.notices(), cluster.late()) == ([], [])
    cluster.is_upgraded()


def test_single_passes_report_once_what_is_late_over_all_of_them(here: World) -> None:
    cluster = Watched(here)
    given, said = cluster.agreed(upgrade_wait=False), list[str]()
    for _between in here.passes(PLAYBOOK, given, 80):
        said.append(cluster.conditions().get("BatchesDone", ""))
    cluster.is_upgraded()
    assert cluster.notices() == [["control_plane_late"], ["workers_late"]]
    assert cluster.late() == ["master-0", "worker-0", "worker-1", "worker-2"]
    assert any("nodes-01 late since " in each for each in said)
    assert "late since" not in cluster.conditions()["BatchesDone"]


@pytest.mark.parametrize(
    ("limit", "variable", "goes_on", "paused"),
    [
        (
            {"upgrade_control_plane_timeout": 900},
            "upgrade_control_plane_timeout",
            "the control plane goes to 4.18.2",
            0,
        ),
        ({"upgrade_batch_timeout": 600}, "upgrade_batch_timeout", "worker-0 of the batch go to 4.18.2", 1),
        ({"upgrade_control_plane_timeout": 0, "upgrade_batch_timeout": 900}, "upgrade_batch_timeout", "", 0),
    ],
)
def test_behind_a_hard_deadline_a_run_says_what_goes_on_by_itself(
    here: World, limit: dict[str, int], variable: str, goes_on: str, paused: int
) -> None:
    cluster = Watched(here)
    ended = cluster.upgrade(**limit, upgrade_member_timeout=7200)
    assert ended.code != 0
    assert {"timed_out", "goes_on_by_itself"} <= {*codes(ended)}, ended.output
    assert f"({variable} or upgrade_run_timeout)" in ended.output
    assert f"OpenShift continues by itself: {goes_on}" in ended.output
    assert cluster.paused() == ["worker"]
    cluster.openshift.clock.advance(7200)
    assert len(cluster.on_target()) == 3 + paused
    again = cluster.upgrade()
    assert again.code == 0, again.output
    cluster.is_upgraded()


def test_the_time_of_the_run_ends_the_wait_for_a_batch_too(here: World) -> None:
    cluster = Watched(here)
    ended = cluster.upgrade(upgrade_run_timeout=1200, upgrade_member_timeout=7200)
    assert ended.code != 0
    assert "goes_on_by_itself" in codes(ended)
