"""CPU limits: quantities, both layouts of control groups on plain folders, and a pod held by the kernel."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.lab.kubelet import limits
from tests.lab.kubelet.limits import Hierarchy, NotEnforced
from tests.lab.namespace import Namespace, probe_pod
from tests.lab.processes import spawn
from tests.lab.waiting import until

TIMEOUT = 60.0
LIMIT, QUOTA = "100m", 10_000
WHY_NOT = limits.obstacle(LIMIT)
BUSY = "(while :; do :; done) & while :; do :; done"
"""Computes without end, in two processes."""


@pytest.fixture(autouse=True)
def _each_trial_anew() -> Iterator[None]:
    limits.obstacle.cache_clear()
    yield
    limits.obstacle.cache_clear()


@pytest.mark.parametrize(
    ("quantity", "expected"),
    [
        ("400m", 400),
        ("0.5", 500),
        ("1", 1000),
        (".25", 250),
        (2, 2000),
        (0.1, 100),
        ("1e1", 10_000),
        ("2k", 2_000_000),
        ("1500u", 2),
        ("1n", 1),
        ("0", 0),
    ],
)
def test_quantities_are_read_as_kubernetes_reads_them(quantity: str | float, expected: int) -> None:
    assert limits.millicores(quantity) == expected


@pytest.mark.parametrize("text", ["", "m", "400 m", "-1", "+1", "1,5", "400x", "0.4.1", "nan", "1Gi"])
def test_what_is_no_quantity_of_cpu_is_refused(text: str) -> None:
    with pytest.raises(ValueError) as refused:
        limits.millicores(text)
    assert str(refused.value) == f"{text!r} is not a quantity of CPU such as 400m, 0.5 or 1"


def test_a_quota_is_the_limits_share_of_the_period_and_never_less_than_the_kernel_takes() -> None:
    assert [limits.quota(limit) for limit in ("400m", "1", "2.5", "1m")] == [40_000, 100_000, 250_000, 1_000]


def test_version_1_has_a_file_for_the_period_and_one_for_the_quota(tmp_path: Path) -> None:
    group = Hierarchy(tmp_path, 1).hold("group", "400m")
    assert {file.name: file.read_text() for file in group.iterdir()} == {
        "cpu.cfs_period_us": "100000",
        "cpu.cfs_quota_us": "40000",
    }
    Hierarchy(tmp_path, 1).hold("group", "1")
    assert (group / "cpu.cfs_quota_us").read_text() == "100000", "a container that starts again takes its group again"


@pytest.mark.parametrize(("handed_down", "written"), [("cpu memory\n", "cpu memory\n"), ("memory\n", "+cpu")])
def test_version_2_has_one_file_and_a_parent_that_hands_the_controller_down(
    tmp_path: Path, handed_down: str, written: str
) -> None:
    control = tmp_path / "cgroup.subtree_control"
    control.write_text(handed_down)
    group = Hierarchy(tmp_path, 2).hold("group", "400m")
    assert {file.name: file.read_text() for file in group.iterdir()} == {"cpu.max": "40000 100000"}
    assert control.read_text() == written


def test_a_group_that_cannot_be_given_its_limit_does_not_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, _text: str) -> int:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(NotEnforced) as refused:
        Hierarchy(tmp_path, 1).hold("group", "400m")
    assert str(refused.value) == f"{tmp_path}/group: Invalid argument"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("mounts", "expected"),
    [
        ("cgroup {0}/cpu cgroup rw,relatime,cpu,cpuacct 0 0\ncgroup2 {0}/none cgroup2 rw 0 0", ("cpu", 1)),
        ("tmpfs {0} tmpfs rw 0 0\ncgroup {0}/cpuset cgroup rw,cpuset 0 0\ncgroup2 {0}/all cgroup2 rw 0 0", ("all", 2)),
        ("cgroup2 {0}/none cgroup2 rw 0 0\ncgroup {0}/cpu cgroup rw,cpu 0 0", ("cpu", 1)),
        ("cgroup2 {0}/none cgroup2 rw 0 0\ncgroup2 {0}/absent cgroup2 rw 0 0", None),
        ("proc {0}/proc proc rw 0 0", None),
    ],
)
def test_the_hierarchy_with_the_controller_is_found(
    tmp_path: Path, mounts: str, expected: tuple[str, int] | None
) -> None:
    for name, controllers in (("all", "cpuset cpu io\n"), ("none", "cpuset io\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "cgroup.controllers").write_text(controllers)
    (tmp_path / "mounts").write_text(mounts.format(tmp_path) + "\n")
    found = limits.hierarchy(tmp_path / "mounts")
    assert found == (Hierarchy(tmp_path / expected[0], expected[1]) if expected else None)


def test_a_process_enters_its_group_before_its_program_starts(tmp_path: Path) -> None:
    entrance = tmp_path / "cgroup.procs"
    entrance.touch()
    argv = ["sh", "-c", f'test "$(cat {entrance})" = 0']
    assert spawn(argv, {}, tmp_path, subprocess.DEVNULL, group=tmp_path).wait() == 0
    entrance.unlink()
    entrance.symlink_to("/dev/full")
    with pytest.raises(OSError) as refused:
        spawn(argv, {}, tmp_path, subprocess.DEVNULL, group=tmp_path)
    assert refused.value.strerror == "its processes may not enter it"


def test_only_the_groups_of_one_lab_are_removed_and_those_in_use_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "hierarchy", lambda: Hierarchy(tmp_path, 1))
    monkeypatch.setattr(limits, "PATIENCE", 0.0)
    mine, other = (limits.mark(Path("labs", name)) for name in ("mine", "other"))
    for name in (f"{mine}ended", f"{mine}busy", f"{other}ended"):
        (tmp_path / name).mkdir()
    (tmp_path / f"{mine}busy" / "occupied").touch()
    assert limits.remove_groups(Path("labs", "mine")) == [tmp_path / f"{mine}busy"]
    assert {path.name for path in tmp_path.iterdir()} == {f"{mine}busy", f"{other}ended"}
    assert limits.remove(tmp_path / "gone")


class _Place:
    """As much of a pod's place as limits need."""

    name = ("shop", "db-0")
    host = SimpleNamespace(directory=Path("labs", "mine"))

    def __init__(self) -> None:
        self.events: list[tuple[str, str, str]] = []

    def report(self, *event: Any) -> None:
        self.events.append(event)


def _confined(limit: Any) -> tuple[Path | None, list[tuple[str, str, str]]]:
    place: Any = _Place()
    container = {"name": "db", **({} if limit is None else {"resources": {"limits": {"cpu": limit}}})}
    return limits.confine(place, container), place.events


@pytest.mark.parametrize("limit", [None, "0"])
def test_a_container_without_a_limit_has_no_group(limit: str | None) -> None:
    assert _confined(limit) == (None, [])


def test_a_container_runs_without_its_limit_where_nothing_enforces_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = "Container db runs without its CPU limit of 400m: "
    monkeypatch.setattr(limits, "hierarchy", lambda: None)
    reason = "no control groups with the controller cpu are mounted"
    assert _confined("400m") == (None, [("Warning", "CPULimitNotEnforced", message + reason)])
    limits.obstacle.cache_clear()
    monkeypatch.setattr(limits, "hierarchy", lambda: Hierarchy(tmp_path / "absent", 1))
    group, ((_kind, _reason, told),) = _confined("400m")
    assert group is None
    assert told.startswith(f"{message}{tmp_path}/absent/stateful-upgrade-trial-")
    assert told.endswith(": No such file or directory")


@pytest.mark.skipif(bool(WHY_NOT), reason=f"CPU limits cannot be enforced here: {WHY_NOT}")
def test_the_trial_leaves_nothing() -> None:
    found = limits.hierarchy()
    assert found is not None
    assert limits.obstacle("250m") == ""
    assert not (found.root / f"{limits.PREFIX}-trial-{os.getpid()}").exists()


@pytest.mark.skipif(bool(WHY_NOT), reason=f"CPU limits cannot be enforced here: {WHY_NOT}")
def test_the_kernel_holds_a_container_to_its_limit_until_it_has_ended(namespace: Namespace) -> None:
    in_group = ["sh", "-c", f"grep -q {limits.mark(namespace.lab.directory)} /proc/self/cgroup"]
    probe = {"exec": {"command": in_group}, "periodSeconds": 1, "timeoutSeconds": 10}
    resources = {"limits": {"cpu": LIMIT}}
    namespace.apply(probe_pod("busy", command=["sh", "-c", BUSY], readinessProbe=probe, resources=resources))
    namespace.until_ready("busy")
    (group,) = (one for one in limits.groups_of(namespace.lab.directory) if f"_{namespace.name}_busy_" in one.name)
    assert _limit_of(group) == (QUOTA, limits.PERIOD)
    assert len(_members(group)) >= 2, "children are held, too"
    until("the kernel to throttle the container", lambda: _accounting(group)["nr_throttled"] > 0, TIMEOUT)

    before = _started(namespace)
    namespace.lab.faults.kill(namespace.name, "busy")
    until("the next process in the group", lambda: (set(_started(namespace)) - set(before)) & _members(group), TIMEOUT)
    assert _limit_of(group) == (QUOTA, limits.PERIOD)

    namespace.delete_pod("busy")
    until("the pod's end", lambda: namespace.pod("busy") is None, TIMEOUT)
    until(
        "the end of its group, whose killed processes leave when the kernel lets them compute",
        lambda: not group.exists(),
        TIMEOUT,
    )


@pytest.mark.skipif(not WHY_NOT, reason="CPU limits are enforced here")
def test_a_pod_is_told_that_its_limit_is_not_enforced(namespace: Namespace) -> None:
    namespace.apply(probe_pod("free", resources={"limits": {"cpu": LIMIT}}))
    namespace.until_ready("free")
    until("the event", lambda: "CPULimitNotEnforced" in namespace.reasons_of("free"), TIMEOUT)


def _started(namespace: Namespace) -> list[int]:
    return [event["process"] for event in namespace.log_of("busy") if event["event"] == "container-started"]


def _members(group: Path) -> set[int]:
    try:
        return {int(line) for line in (group / "cgroup.procs").read_text().split()}
    except OSError:  # between two processes of a container its group is removed and made again
        return set()


def _accounting(group: Path) -> dict[str, int]:
    lines = (line.split() for line in (group / "cpu.stat").read_text().splitlines())
    return {name: int(value) for name, value in lines}


def _limit_of(group: Path) -> tuple[int, int]:
    """Quota and period as the kernel has them."""
    files = ["cpu.max"] if (group / "cpu.max").exists() else ["cpu.cfs_quota_us", "cpu.cfs_period_us"]
    given, period = " ".join((group / file).read_text() for file in files).split()
    return int(given), int(period)
