"""The snapshots of etcd that the role member_kubeadm takes on machines in memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.runs.machines import Machines, machines
from tests.runs.test_machines_role import FIRST, FROM, TO, WORKER, take
from tests.runs.world import world


@pytest.fixture
def made() -> Iterator[Machines]:
    """A machine of the control plane, and a worker."""
    with world() as here, machines(here, FROM, [TO], control_plane=1, workers=1) as found:
        yield found


def test_a_snapshot_is_proven_and_kept_outside_the_data(made: Machines) -> None:
    commands = made.machines[FIRST].commands
    commands.snapshots_broken = True
    said = take(made, FIRST, "before_drain").message
    assert "No snapshot of etcd could be taken on cp-1" in said
    assert "The snapshot is not whole, since it ends at revision 1" in said
    assert made.machines[FIRST].packages.installed["kubeadm"] == FROM
    assert not commands.snapshots
    commands.snapshots_broken, commands.snapshots_cut = False, True
    cut = take(made, FIRST, "before_drain").message
    assert "since its content does not have the checksum that etcd has written at its end" in cut
    assert not commands.snapshots
    commands.snapshots_cut = False
    done = take(made, FIRST, "before_drain")
    assert [each.rpartition("/")[0] for each in commands.snapshots] == ["/var/lib/etcd-snapshots"]
    assert '"fault": ""' in done.output
    ((path, status),) = commands.snapshots.items()
    kept = f"{path}, revision {status['revision']}, hash {status['hash']}, {status['totalSize']} bytes."
    assert f"Snapshot of etcd on cp-1: {kept}" in done.output
    made.machines[FIRST].commands.fails["crictl ps"] = "no such runtime"
    assert "crictl finds no running container of etcd (no such runtime)" in take(made, FIRST, "before_drain").message
    # A worker has none.
    assert take(made, WORKER, "before_drain").code == 0
    assert len(commands.snapshots) == 1


def test_the_last_snapshots_are_kept_and_never_none(made: Machines) -> None:
    commands = made.machines[FIRST].commands
    folder, foreign = "/var/lib/etcd-snapshots", "/var/lib/other/stateful-upgrade-1.db"
    old = [f"{folder}/stateful-upgrade-1.34.0-{number}.db" for number in range(4)]
    commands.snapshots |= {path: {"totalSize": 1} for path in (*old, foreign)}
    commands.snapshots_broken = True
    assert take(made, FIRST, "before_drain").code == 2
    assert [*commands.snapshots] == [*old, foreign], "before a new one is proven none is removed"
    commands.snapshots_broken = False
    assert take(made, FIRST, "before_drain", member_kubeadm_snapshots=2).code == 0
    newest = [*commands.snapshots][-1]
    assert [*commands.snapshots] == [old[-1], foreign, newest]
    assert newest.startswith(f"{folder}/stateful-upgrade-{TO}-")


def test_a_snapshot_that_is_cut_off_on_its_way_is_none(made: Machines) -> None:
    commands = made.machines[FIRST].commands
    commands.disk_full = True
    said = take(made, FIRST, "before_drain").message
    assert "No snapshot of etcd could be taken on cp-1 (Move it out of the data of etcd)" in said
    assert "No space left on device" in said
    assert not commands.snapshots


def test_a_snapshot_is_on_the_disk_before_it_has_its_name(made: Machines) -> None:
    commands = made.machines[FIRST].commands
    commands.fails["sync"] = "sync: error syncing: Input/output error"
    said = take(made, FIRST, "before_drain").message
    assert "No snapshot of etcd could be taken on cp-1 (Have its content on the disk)" in said
    assert not commands.snapshots
    del commands.fails["sync"]
    assert take(made, FIRST, "before_drain").code == 0
    (path,) = commands.snapshots
    assert commands.on_disk == {path, path.rpartition("/")[0]}


def test_what_a_killed_run_has_left_of_a_snapshot_is_removed(made: Machines) -> None:
    commands = made.machines[FIRST].commands
    name, kept = "stateful-upgrade-1.36.1-20260101T000000Z.db", "/var/lib/etcd-snapshots"
    commands.snapshots |= {
        f"{folder}/{name}": {"totalSize": 1}
        for folder, name in (("/var/lib/etcd", name), ("/var/lib/etcd", f"{name}.part"), (kept, f"{name}.part"))
    }
    commands.snapshots[f"{kept}/{name}"] = {"totalSize": 1}
    assert take(made, FIRST, "before_drain").code == 0
    first, second = commands.snapshots
    assert first == f"{kept}/{name}"
    assert second.rpartition("/")[0] == kept


@pytest.mark.parametrize("least", [0, -1, 1])
def test_the_snapshot_that_was_just_proven_stays(made: Machines, least: int) -> None:
    commands = made.machines[FIRST].commands
    commands.snapshots["/var/lib/etcd-snapshots/stateful-upgrade-1.34.0-0.db"] = {"totalSize": 1}
    assert take(made, FIRST, "before_drain", member_kubeadm_snapshots=least).code == 0
    assert [each.split("-")[3] for each in commands.snapshots] == [TO]
