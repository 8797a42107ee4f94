"""An UpgradeConfig that asks for an image: its version is in the record and in the status."""

from __future__ import annotations

from tests.runs.openshift import PLAYBOOK
from tests.runs.test_openshift import codes
from tests.runs.test_upgrade_config import RequestedOpenShift
from tests.runs.world import World
from tests.sandbox.openshift.registry import HOST, STORE, image_of


class OfImage(RequestedOpenShift):
    """An OpenShift whose update to an image is requested."""

    def __init__(self, here: World) -> None:
        super().__init__(here)
        for host in (HOST, STORE):
            here.calling.serve(self.openshift.registry, host, 443)

    def ask(self, at: float = -60.0, version: str = "4.18.2") -> None:
        """Ask for the image of a version."""
        self.request(at=at, desired={"image": image_of(version)})

    def entries(self) -> list[tuple[str | None, str]]:
        """The versions of the history, each with its phase."""
        return [(each.get("version"), each["phase"]) for each in self.history()]


def test_the_version_of_an_image_is_in_the_record_and_in_the_history(here: World) -> None:
    cluster = OfImage(here)
    cluster.ask()
    ended = cluster.play()
    assert ended.code == 0, ended.output
    cluster.is_upgraded()
    assert cluster.record()["target_version"] == "4.18.2"
    assert cluster.entries() == [("4.18.2", "Upgraded")]


def test_a_pass_before_the_start_and_a_refused_one_keep_the_version(here: World) -> None:
    cluster = OfImage(here)
    cluster.ask(at=7200)
    for _pass in range(2):
        early = cluster.play(upgrade_wait=False)
        assert early.code == 0, early.output
        assert (cluster.entries(), cluster.state()) == ([("4.18.2", "Pending")], "waiting")
    cluster.openshift.clock.advance(7200)
    refused = here.play(PLAYBOOK, cluster.variables(upgrade_wait=False))
    assert codes(refused) == ["not_confirmed"]
    assert (cluster.entries(), cluster.state()) == ([("4.18.2", "Pending")], "refused")
    cluster.openshift.faults.registry_unreachable()
    waits = here.play(PLAYBOOK, cluster.variables(upgrade_wait=False))
    assert codes(waits) == ["registry_unreachable"]
    assert cluster.entries() == [(None, "New"), ("4.18.2", "Pending")]
    cluster.openshift.faults.registry_reachable()
    ended = cluster.play()
    assert (ended.code, cluster.entries()) == (0, [("4.18.2", "Upgraded")]), ended.output


def test_an_image_that_is_refused_with_a_plan_has_its_version_and_one_without_has_none(here: World) -> None:
    cluster = OfImage(here)
    cluster.ask()
    refused = here.play(PLAYBOOK, cluster.variables())
    assert codes(refused) == ["not_confirmed"]
    assert cluster.entries() == [("4.18.2", "New")]
    cluster.ask(version="4.18.9")
    refused = here.play(PLAYBOOK, cluster.variables())
    assert codes(refused) == ["release_image_refused"]
    assert cluster.entries() == [(None, "New")]
