# SPDX-License-Identifier: GPL-3.0-or-later
"""A second system, which the collection does not know: lamps, of which one in every room stays lit while bulbs change.

It is a collection of its own (`fixture/lamps`): a room in module_utils, two modules, one role and one playbook. The
roles begin, roll, finish and settle and the playbooks plan, settle, abort and status serve it as they are. Its lamps
are a file; its lock and its record are kept by an API server in memory.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.lab.waiting import until
from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.api import ApiServer
from tests.sandbox.kubernetes.kinds import NAMESPACES
from tests.sandbox.kubernetes.rights import ADMIN
from tests.sandbox.listening import Listening
from tests.unit.systems.playing import Playbooks

FIXTURE = Path(__file__).resolve().parent / "fixture" / "lamps"
ROOT = Path(__file__).resolve().parents[3]
TOKEN = "nobody-else"
SYSTEM = "example.lamps.lamps"
CONCISE = "stateful.upgrade.concise"
LONGEST = Playbooks.longest


class House(Playbooks):
    """The lamps, their playbooks, and what keeps lock and record."""

    def __init__(self, folder: Path, url: str, environment: Mapping[str, str]) -> None:
        collections = folder / "collections" / "ansible_collections"
        for name, source in (("stateful/upgrade", ROOT), ("example/lamps", FIXTURE)):
            (collections / name).parent.mkdir(parents=True)
            (collections / name).symlink_to(source, target_is_directory=True)
        self.file = folder / "house.json"
        given = {
            **environment,
            "ANSIBLE_COLLECTIONS_PATH": str(folder / "collections"),
            "ANSIBLE_SHOW_CUSTOM_STATS": "true",
        }
        variables = {
            "upgrade_namespace": "house",
            "upgrade_kubernetes": {"host": url, "api_key": TOKEN},
            "upgrade_house": str(self.file),
        }
        super().__init__(given, variables)
        lamps = {name: {"room": room, "bulb": "coil", "lit": True} for name, room in zip("1234", "hhcc", strict=True)}
        self.write(name="house-1", dimmer="auto", undo="", stuck=[], lamps=lamps)

    def read(self) -> dict[str, Any]:
        """The house now."""
        found: dict[str, Any] = json.loads(self.file.read_text())
        return found

    def write(self, **changes: Any) -> None:
        """Change it, as somebody who lives there."""
        self.file.write_text(json.dumps({**(self.read() if self.file.exists() else {}), **changes}))

    def bulbs(self) -> str:
        """The first letter of each lamp's bulb, a capital where it is dark."""
        return "".join(
            lamp["bulb"][0] if lamp["lit"] else lamp["bulb"][0].upper() for lamp in self.read()["lamps"].values()
        )


@pytest.fixture
def house(tmp_path: Path, ansible_environment: Mapping[str, str]) -> Iterator[House]:
    with Listening(Clock()) as listening:
        server = ApiServer(listening.pace.clock, {TOKEN: ADMIN})
        server.resources.create(NAMESPACES, "", {"metadata": {"name": "house"}})
        yield House(tmp_path, listening.serve(server).url, ansible_environment)


def digest(house: House) -> str:
    """The digest of the plan, as the playbook plan hands it on."""
    said = house.play("stateful.upgrade.plan", upgrade_system=SYSTEM, target_version="led")
    assert "Upgrade of cluster house-1 to led: 4 of 4 members in 2 batches" in said
    return said.partition('"upgrade_confirm": "')[2].partition('"')[0]


def test_a_second_system_is_planned_rolled_and_shown(house: House) -> None:
    agreed = digest(house)
    assert house.bulbs() == "cccc"
    said = house.play("example.lamps.lamps", target_version="led", upgrade_confirm=agreed)
    assert "Upgraded to led: 4 of 4 members in this run." in said
    assert '"upgrade_state": "done"' in said
    assert (house.bulbs(), house.read()["dimmer"], house.read()["undo"]) == ("llll", "auto", "")
    said = house.play("stateful.upgrade.status", upgrade_system=SYSTEM)
    assert ": Completed, to led" in said
    page = house.file.with_name("report.html")
    said = house.play("stateful.upgrade.report", upgrade_system=SYSTEM, upgrade_report_path=str(page))
    assert f"The report is in {page}." in said
    assert "<h1>Upgrade of lamps to led: Completed</h1>" in page.read_text()
    said = house.play("example.lamps.lamps", target_version="led")
    assert "Nothing to do: every member already ran led." in said


def test_without_consent_nothing_is_done(house: House) -> None:
    said = house.play("example.lamps.lamps", 2, target_version="led")
    assert "was not confirmed, so nothing was done" in said
    assert house.bulbs() == "cccc"


def test_a_batch_that_does_not_come_back_stops_the_run_and_all_is_put_back(house: House) -> None:
    agreed = digest(house)
    house.write(stuck=["1"])
    said = house.play("example.lamps.lamps", 2, target_version="led", upgrade_confirm=agreed, upgrade_member_timeout=1)
    assert "Stopped at batch-01 (See the batch lit): Lamp 1 is not lit yet." in said
    assert "All is as it was before the run. Cure the cause and run the playbook again" in said
    assert (house.bulbs(), house.read()["dimmer"], house.read()["undo"]) == ("Lclc", "auto", "")


def test_the_concise_output_shows_plan_and_failures_and_the_tasks_of_others(house: House) -> None:
    agreed = digest(house)
    house.environment = {**house.environment, "ANSIBLE_STDOUT_CALLBACK": CONCISE, "ANSIBLE_SHOW_CUSTOM_STATS": "false"}
    said = house.play("example.lamps.lamps", 2, target_version="led", upgrade_confirm="p00000000000")
    assert said.splitlines()[-1].startswith("upgrade_confirm names the plan p00000000000, and the plan is p")

    house.write(stuck=["1"])
    said = house.play("example.lamps.lamps", 2, target_version="led", upgrade_confirm=agreed, upgrade_member_timeout=1)
    lines = said.splitlines()
    assert any(line.startswith("Upgrade of cluster house-1 to led: 4 of 4 members") for line in lines)
    assert any(line.startswith("Stopped at batch-01 (See the batch lit): Lamp 1 is not lit yet.") for line in lines)
    assert lines[-1] == "The upgrade has failed. The report above says why, and what to do."
    assert "TASK [stateful.upgrade." not in said
    assert "PLAY RECAP" not in said
    assert "TASK [example.lamps.lamps : See the batch lit]" in said


def test_a_settle_that_fails_does_not_say_that_everything_is_put_back(house: House) -> None:
    house.write(undo="scratched")
    said = house.play("stateful.upgrade.settle", 2, upgrade_system=SYSTEM)
    assert "JSONDecodeError" in said
    assert "Everything is put back." not in said


def test_what_a_killed_run_leaves_is_settled_and_the_run_goes_on(house: House) -> None:
    agreed = digest(house)
    house.write(stuck=["1"])
    process = house.start("example.lamps.lamps", target_version="led", upgrade_confirm=agreed)
    until("The new bulb that stays dark", lambda: house.bulbs() == "Lclc", LONGEST)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert house.read()["dimmer"] == "bright"
    said = house.play("stateful.upgrade.status", upgrade_system=SYSTEM)
    assert "was interrupted" in said

    assert "Everything is put back." in house.play("stateful.upgrade.settle", upgrade_system=SYSTEM)
    assert (house.bulbs(), house.read()["dimmer"], house.read()["undo"]) == ("Lclc", "auto", "")

    lamps = house.read()["lamps"]
    house.write(stuck=[], lamps={**lamps, "1": {**lamps["1"], "lit": True}})
    said = house.play("example.lamps.lamps", target_version="led", upgrade_confirm=agreed)
    assert "Upgraded to led: 2 of 4 members in this run." in said
    assert (house.bulbs(), house.read()["dimmer"]) == ("llll", "auto")


def test_a_run_that_is_asked_to_stop_puts_everything_back(house: House) -> None:
    agreed = digest(house)
    house.write(stuck=["1"])
    process = house.start("example.lamps.lamps", target_version="led", upgrade_confirm=agreed)
    until("The new bulb that stays dark", lambda: house.bulbs() == "Lclc", LONGEST)
    house.play("stateful.upgrade.abort", upgrade_system=SYSTEM)
    said, _nothing = process.communicate(timeout=LONGEST)
    assert process.returncode == 2, said
    assert (house.bulbs(), house.read()["dimmer"], house.read()["undo"]) == ("Lclc", "auto", "")
