"""Machines that restart with another image, by an agent on each of them, over real SSH connections."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

import pytest

from tests.lab.machines.cluster import CONTROL_PLANE
from tests.lab.machines.machine import Machine
from tests.lab.machines.packages import program
from tests.scenarios.machines.upgrades import Upgrades, upgrading

SHA256 = "ab" * 32
GIVEN = {
    "upgrade_member_role": "stateful.upgrade.member_os_image",
    "member_os_image_command": ["/usr/bin/osagent"],
    "member_os_image_image": {"url": "https://images.example.com/os.raw", "sha256": SHA256},
    "member_os_image_interval": 2,
}
UNIT = """\
[Unit]
Description=The rest of the operation that has restarted the machine
After=kubelet.service
[Service]
Type=exec
ExecStart=/usr/bin/osagent work
[Install]
WantedBy=multi-user.target
"""
BETWEEN = 0.5


@pytest.fixture
def upgrades(ansible_environment: Mapping[str, str]) -> Iterator[Upgrades]:
    """A cluster with an agent on each machine, which is switched on again whenever it has restarted."""
    with upgrading(ansible_environment, ("cp-1", "cp-2"), ("w-1", "w-2")) as made:
        machines = made.cluster.machines.values()
        for machine in machines:
            machine.run("sh", "-c", "cat > /usr/bin/osagent; chmod 755 /usr/bin/osagent", given=program("osagent.py"))
            machine.run("sh", "-c", "cat > /etc/systemd/system/osagent.service", given=UNIT)
            machine.run("systemctl", "enable", "osagent")
        with switched_on(machines):
            yield made


@contextmanager
def switched_on(machines: Collection[Machine]) -> Iterator[None]:
    """Until the block ends, a machine that has gone down by itself comes up again."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(BETWEEN):
            for each in machines:
                if each.process is not None and each.process.poll() is not None:
                    each.start()

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@pytest.mark.soak
def test_each_machine_starts_its_image_once(upgrades: Upgrades) -> None:
    cluster = upgrades.cluster
    boots = {name: machine.boot() for name, machine in cluster.machines.items()}
    played = upgrades.run(upgrades.agreed(**GIVEN))
    assert played.code == 0, played.message
    upgrades.is_whole()
    for name, machine in cluster.machines.items():
        assert machine.boot() != boots[name]
        assert machine.run("cat", "/var/lib/osagent/image") == SHA256
        assert machine.run("cat", "/var/lib/osagent/boots") == "x", "once"
        steps = machine.run("ls", "/var/lib/stateful-upgrade").split()
        plane = machine in cluster.groups[CONTROL_PLANE]
        assert steps == [*(["os-image-before_drain.json"] if plane else []), "os-image-after_drain.json"][::-1]
    again = upgrades.run(upgrades.variables(**GIVEN))
    assert again.code == 0, again.message
    assert not any(again.changed[name] for name in cluster.machines)
