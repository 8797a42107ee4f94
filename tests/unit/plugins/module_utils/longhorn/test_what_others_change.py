"""Changes that others make to Longhorn in the middle of a switch from outside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome

from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.longhorn.description import NEW_IMAGE, Volume
from tests.sandbox.longhorn.kinds import MANAGERS, NODES, SETTINGS, VOLUMES
from tests.sandbox.longhorn.webhook import BY_LONGHORN
from tests.sandbox.web import Answer, Request
from tests.unit.plugins.module_utils.longhorn.driving import NODES_OF_THREE, SPREAD, Driver, Killed, Killing, outliving

IMAGE = "default-instance-manager-image"
OTHER_IMAGE = NEW_IMAGE.replace("v1.12.0", "v1.12.1")
ONE = (Volume("vol-1", SPREAD, "n1"),)


def codes(done: Outcome) -> set[str]:
    return {each.code for each in done.verdict.deciding()}


def changes_image(driver: Driver) -> None:
    def change(item: Json) -> None:
        item["metadata"]["annotations"] = {BY_LONGHORN: ""}
        item["value"] = OTHER_IMAGE

    driver.longhorn.objects.change(SETTINGS, IMAGE, change)


def is_away(item: Json) -> bool:
    """Whether the engine of the volume is away from n1."""
    return item["metadata"]["name"] == "vol-1" and item["status"].get("currentEngineNodeID") in {"n2", "n3"}


def running(driver: Driver) -> set[str]:
    found = driver.longhorn.objects.all(MANAGERS)
    return {each["spec"]["image"] for each in found if each.get("status", {}).get("currentState") == "running"}


def test_another_default_image_than_the_one_that_was_agreed_to_is_refused(drive: type[Driver]) -> None:
    driver = drive(outliving(*ONE))
    agreed = str(driver.plan().more["image"])
    changes_image(driver)
    driver.longhorn.clock.advance(5.0)
    done = driver.switch(*NODES_OF_THREE, image=agreed)
    assert codes(done) == {"image_changed"}
    assert OTHER_IMAGE in done.verdict.reasons[0].message
    assert (done.changed, driver.leftovers()) == (False, [])


@pytest.mark.parametrize("image", [NEW_IMAGE, ""], ids=["from the plan", "from the first look"])
def test_a_default_image_that_changes_in_mid_run_replaces_nothing_further(drive: type[Driver], image: str) -> None:
    driver = drive(outliving(*ONE))
    driver.longhorn.faults.when(VOLUMES, is_away, lambda: changes_image(driver))
    done = driver.switch(*NODES_OF_THREE, image=image)
    assert codes(done) == {"image_changed"}
    assert OTHER_IMAGE not in running(driver)
    assert driver.longhorn.engine("vol-1")["spec"]["nodeID"] == "n1"
    assert driver.switch(state="restored").verdict.passed
    assert driver.leftovers() == []


@dataclass
class Between(Killing):
    """Does something once between a look and an act, as soon as it may."""

    may: Callable[[], bool] = lambda: False
    does: Callable[[], None] = lambda: None
    done: list[bool] = field(default_factory=list)

    def before_act(self) -> None:
        """See `Guard`."""
        if not self.done and self.may():
            self.done.append(True)
            self.does()


def replacing(driver: Driver) -> Callable[[], bool]:
    """Whether the next act is the removal of the instance manager."""
    return lambda: driver.said[-1:] == ["node n1: upgrading-instance-manager"]


def test_a_default_image_that_changes_between_look_and_act_replaces_nothing(drive: type[Driver]) -> None:
    driver = drive(outliving(*ONE))
    driver.guard = Between(may=replacing(driver), does=lambda: changes_image(driver))
    assert codes(driver.switch("n1")) == {"image_changed"}
    assert driver.guard.done
    assert driver.images()["n1"] == "v1.11.2"


def test_a_volume_that_is_attached_between_look_and_act_keeps_its_manager(drive: type[Driver]) -> None:
    driver = drive(outliving(*ONE, Volume("late", ("n1", "n2", "n3"))))

    def attached() -> None:
        driver.longhorn.attach("late", "n1")
        driver.longhorn.clock.advance(5.0)
        assert driver.longhorn.volume("late")["status"]["state"] == "attached"

    driver.guard = Between(may=replacing(driver), does=attached)
    done = driver.switch("n1")
    assert driver.guard.done
    assert done.verdict.passed, (done.verdict, driver.said)
    assert driver.longhorn.observer.losses == []
    assert driver.images()["n1"] == "v1.12.0"


def test_a_node_that_somebody_opens_for_replicas_is_not_closed_again(drive: type[Driver]) -> None:
    driver = drive(outliving(*ONE))

    def opens() -> None:
        driver.longhorn.write(NODES, "n1", {"allowScheduling": True})

    driver.longhorn.faults.when(VOLUMES, is_away, opens)
    done = driver.switch(*NODES_OF_THREE)
    assert codes(done) == {"scheduling_changed"}
    assert driver.longhorn.get(NODES, "n1")["spec"]["allowScheduling"]
    assert driver.images()["n1"] == "v1.11.2"
    assert driver.switch(state="restored").verdict.passed
    assert driver.leftovers() == []


@pytest.mark.parametrize("wanted", ["n1", "n2", ""], ids=["sent back", "sent elsewhere", "emptied"])
def test_an_engine_that_somebody_sends_elsewhere_is_left_where_it_is(drive: type[Driver], wanted: str) -> None:
    driver = drive(outliving(*ONE, Volume("vol-2", SPREAD, "n2"), Volume("vol-3", ("n1", "n2"), "n1")))

    def sends() -> None:
        assert wanted != driver.longhorn.volume("vol-1")["spec"]["engineNodeID"]
        driver.longhorn.write(VOLUMES, "vol-1", {"engineNodeID": wanted})

    driver.longhorn.faults.when(VOLUMES, is_away, sends)
    done = driver.switch(*NODES_OF_THREE)
    assert codes(done) == {"engine_node_changed"}, (done.verdict, driver.said)
    (reason,) = done.verdict.deciding()
    assert all(each in reason.message for each in ("vol-1", "engineNodeID", "kubectl"))
    assert driver.longhorn.volume("vol-1")["spec"]["engineNodeID"] == wanted
    assert driver.images()["n1"] == "v1.11.2"
    settled = driver.switch(state="restored")
    assert settled.verdict.passed, settled.verdict
    assert driver.longhorn.volume("vol-1")["spec"]["engineNodeID"] == wanted


def test_a_volume_that_is_attached_in_the_middle_of_a_look_keeps_its_manager(drive: type[Driver]) -> None:
    """Its attachment comes right after the list of volumes, and before whatever is listed after it."""
    driver = drive(outliving(*ONE, Volume("late", ("n1", "n2", "n3"))))
    longhorn, answer, late = driver.longhorn, driver.api.answer, list[str]()

    def between(request: Request) -> Answer:
        status = longhorn.volume("vol-1")["status"]
        ready = status["currentEngineNodeID"] in {"n2", "n3"} and not status.get("switchoverState")
        detached = longhorn.volume("late")["status"]["state"] == "detached"
        if request.path.endswith("/volumes") and ready and detached and not late:
            late.append(request.path)
            volumes = answer(request)
            longhorn.attach("late", "n1")
            longhorn.clock.advance(5.0)
            assert longhorn.volume("late")["status"]["state"] == "attached"
            return volumes
        return answer(request)

    driver.api.answer = between  # type: ignore[method-assign]
    done = driver.switch("n1")
    assert late
    assert done.verdict.passed, (done.verdict, driver.said)
    assert longhorn.observer.losses == []
    assert driver.images()["n1"] == "v1.12.0"


def test_a_node_that_a_run_has_opened_itself_is_closed_again_for_another_image(drive: type[Driver]) -> None:
    """A run is killed while replicas are rebuilt, and Longhorn is upgraded once more before the next run."""
    driver = drive(outliving(*ONE))
    longhorn = driver.longhorn

    def rebuilds() -> bool:
        return longhorn.get(NODES, "n1")["spec"]["allowScheduling"] and driver.images()["n1"] == "v1.12.0"

    longhorn.faults.rebuild_stuck("vol-1")
    driver.guard = Killing(at=rebuilds)
    with pytest.raises(Killed):
        driver.switch("n1")
    longhorn.faults.mend_all()
    changes_image(driver)
    assert longhorn.until(lambda: longhorn.volume("vol-1")["status"]["robustness"] == "healthy")
    driver.run, driver.guard = "run-2", None
    done = driver.switch("n1")
    assert done.verdict.passed, (done.verdict, driver.said)
    assert driver.images()["n1"] == "v1.12.1"
    assert driver.switch(state="restored").verdict.passed
    assert driver.leftovers() == []
