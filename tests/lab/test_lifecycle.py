"""Labs side by side, and their ends: ordered, killed, orphaned or failed, nothing is ever left."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.command_line import main
from tests.lab.errors import LabError
from tests.lab.fixtures import lab_directory
from tests.lab.kubelet.limits import groups_of, obstacle
from tests.lab.lab import ROOT, Lab
from tests.lab.namespace import Namespace, probe_pod
from tests.lab.plan import LabPlan
from tests.lab.process_namespace import first_process
from tests.lab.processes import Ledger, ProcessRecord, is_alive, left_over
from tests.lab.teardown import tear_down
from tests.lab.waiting import until

TIMEOUT = 60.0
STRAY = "setsid sleep 3600 & sleep 3600 & wait"
"""A pod whose processes leave its process group."""
LIMIT = "500m"


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory for one more lab, cleared away whatever the test did."""
    made = lab_directory()
    yield made
    if (made / "lab.json").exists():
        tear_down(made)
    shutil.rmtree(made, ignore_errors=True)


def _with_pods(lab: Lab) -> list[ProcessRecord]:
    """Start two pods with limits, one of which starts processes of its own; give every process that can be found."""
    namespace = Namespace(lab, "strays")
    resources = {"limits": {"cpu": LIMIT}}
    stray = probe_pod("stray", command=["sh", "-c", STRAY], readinessProbe=None, resources=resources)
    namespace.apply(probe_pod("plain", resources=resources), stray)
    for name in ("plain", "stray"):
        namespace.until_ready(name)
    records = Ledger(lab.directory / "processes.jsonl").records()
    found = until("the stray processes", lambda: _unrecorded(lab.directory, records), TIMEOUT)
    names = {record.name for record in records}
    assert {"daemon", "etcd", "kube-apiserver", "strays/plain/probe", "strays/stray/probe"} <= names
    assert len(groups_of(lab.directory)) == (0 if obstacle(LIMIT) else 2)
    return [*records, *found]


def _unrecorded(directory: Path, records: list[ProcessRecord]) -> list[ProcessRecord]:
    found = [record for record in left_over(directory, records) if record.name == "unrecorded"]
    return found if len(found) >= 2 else []


def test_two_labs_do_not_meet(lab: Lab, namespace: Namespace, directory: Path) -> None:
    namespace.apply(probe_pod("same"))
    namespace.until_ready("same")
    with Lab.up("second", directory, zones=("x",), nodes_per_zone=2) as second:
        assert second.address_range != lab.address_range
        other = Namespace(second, namespace.name)
        assert other.pod("same") is None
        other.apply(probe_pod("same", tag="2"))
        other.until_ready("same")
        assert [node["name"] for node in second.status()["nodes"]] == ["node-x1", "node-x2"]
        assert (namespace.get("same", "/version"), other.get("same", "/version")) == ("1", "2")
    assert namespace.get("same", "/version") == "1"
    assert not directory.exists()


def test_an_ordered_end_leaves_nothing(directory: Path) -> None:
    lab = Lab.up("ordered", directory)
    processes = _with_pods(lab)
    assert all(is_alive(record) for record in processes)
    lab.down()
    assert not [record for record in processes if is_alive(record)]
    assert not groups_of(directory)
    assert not directory.exists()


def test_a_killed_daemon_takes_everything_along_and_down_clears_the_rest(directory: Path) -> None:
    lab = Lab.up("killed", directory)
    processes = _with_pods(lab)
    daemon = next(record for record in processes if record.name == "daemon")
    recorded = [record for record in processes if record.name != "unrecorded"]
    os.kill(daemon.pid, signal.SIGKILL)
    until("the end of all recorded processes", lambda: not [one for one in recorded if is_alive(one)], TIMEOUT)
    with pytest.raises(LabError, match="No lab answers"):
        lab.status()
    done = tear_down(directory)
    assert not [record for record in processes if is_alive(record)]
    assert {record.name for record in done.killed} <= {"unrecorded"}
    assert not groups_of(directory)
    assert not directory.exists()


def test_a_lab_ends_with_its_owner(directory: Path) -> None:
    script = "import pathlib, signal, sys; from tests.lab.lab import Lab"
    script += "; Lab.up('owned', pathlib.Path(sys.argv[1])); print('up', flush=True); signal.pause()"
    argv = [sys.executable, "-c", script, str(directory)]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "up\n"
        lab = Lab.attach(directory)
        processes = _with_pods(lab)
        owner.kill()
    until("the end of all processes", lambda: not left_over(directory, processes), TIMEOUT)
    until("the removal of all control groups", lambda: not groups_of(directory), TIMEOUT)


def test_a_failed_start_leaves_nothing(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = directory.parent / f"{directory.name}-binary"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr("tests.lab.lab.ensure_built", lambda _tell: broken)
    try:
        with pytest.raises(LabError, match=r"the lab ended because (etcd|kube-apiserver) ended: 1"):
            Lab.up("failed", directory)
    finally:
        broken.unlink()
    assert not directory.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs pods as another user, who may be shut out")
def test_a_directory_that_pods_cannot_enter_is_refused(directory: Path) -> None:
    (directory / "shut").mkdir(mode=0o700)
    with pytest.raises(LabError, match=r"may not enter .*/shut"):
        Lab.up("refused", directory / "shut" / "lab")
    assert not list((directory / "shut").iterdir())


def test_a_process_that_is_not_the_recorded_one_is_never_killed(directory: Path) -> None:
    LabPlan("reused", "none", ("a",), 1, None).write(directory)
    with subprocess.Popen(["sleep", "3600"]) as innocent:
        Ledger(directory / "processes.jsonl").add(ProcessRecord("daemon", innocent.pid, 1))
        tear_down(directory)
        assert innocent.poll() is None
        innocent.kill()


def test_secrets_are_private_and_pods_run_as_another_user(lab: Lab, namespace: Namespace) -> None:
    for path in (lab.directory / "secrets").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    namespace.apply(probe_pod("who"))
    namespace.until_ready("who")
    (started,) = (event["process"] for event in namespace.log_of("who") if event["event"] == "container-started")
    owner = Path(f"/proc/{first_process(started) or started}").stat().st_uid
    assert owner == (65534 if os.geteuid() == 0 else os.geteuid())


def test_the_command_line(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--directory", str(directory)]

    def run(*argv: str, code: int = 0) -> str:
        assert main([*argv[:1], *where, *argv[1:]]) == code
        printed = capsys.readouterr()
        return printed.out + printed.err

    assert "is up after" in run("up", "--zones", "a")
    assert "A lab runs in" in run("up", code=1)
    run("break", "slow-stop", "shop/db-0", "7")
    run("break", "node-dead", "node-a1")
    status = run("status")
    assert "broken: slow-stop shop/db-0 7.0 s" in status
    assert "broken: node-dead node-a1" in status
    run("mend", "node-a1")
    run("mend")
    assert "broken" not in run("status")
    assert "no running process" in run("break", "kill", "shop/db-0", code=1)
    assert "is down" in run("down")
    assert "is not the directory of a lab" in run("down", code=1)
