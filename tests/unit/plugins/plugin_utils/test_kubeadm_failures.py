"""The classes of failures of kubeadm, and the tries that each gets."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.stateful.upgrade.plugins.plugin_utils.kubeadm_failures import (
    failure_class,
    may_pass,
    tried_again,
)

ROOT = Path(__file__).parents[4]
RECORDED = ROOT / "tests" / "sandbox" / "kubeadm" / "recorded"
POD = "static Pod hash for component kube-apiserver on Node cp-1 did not change after 5m0s"
PULL = "[ERROR ImagePull]: failed to pull image registry.test/kube-proxy:v1.36.1: "
REFUSED = "dial tcp 10.0.0.1:6443: connect: connection refused"


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (f'Get "https://10.0.0.1:6443/version": {REFUSED}', "Unreachable"),
        ('Post "https://api/apis": net/http: TLS handshake timeout', "Unreachable"),
        (f"couldn't upgrade control plane: {POD}: timed out waiting for the condition", "Transient"),
        (f"{PULL}context deadline exceeded", "Transient"),
        (f"{PULL}failed to resolve reference: failed to do request: Head: dial tcp: i/o timeout", "Unreachable"),
        (f"{PULL}rpc error: code = NotFound desc = no such tag", "Terminal"),
        (f"{PULL}401 Unauthorized", "Terminal"),
        ("x509: certificate has expired or is not yet valid", "Terminal"),
        ("no space left on device", "Terminal"),
        (f"\t[ERROR CreateJob]: Job did not complete in 15s\n\t[ERROR SystemVerification]: {REFUSED}", "Transient"),
        (f"\t[ERROR CreateJob]: {REFUSED}\n\t[ERROR SystemVerification]: no cgroups", "Terminal"),
        ("", "Terminal"),
    ],
)
def test_the_class_of_a_failure(said: str, kind: str) -> None:
    assert failure_class({"rc": 1, "stderr": said}) == kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("apply_not_ready", "Transient"),
        ("apply_too_new", "Terminal"),
        ("apply_without_image", "Terminal"),
        ("dry_run_plugin", "Terminal"),
        ("dry_run_without_api", "Unreachable"),
    ],
)
def test_the_class_of_what_the_real_kubeadm_has_said(name: str, kind: str) -> None:
    assert failure_class({"rc": 1, "stderr": (RECORDED / f"{name}.txt").read_text(encoding="utf-8")}) == kind


def test_each_class_has_its_budget() -> None:
    away, late, broken = ({"rc": 1, "stderr": each} for each in (REFUSED, POD, "no space left on device"))
    assert [may_pass({**away, "attempts": each}, {}) for each in (1, 5, 6)] == [True, True, False]
    assert [may_pass({**late, "attempts": each}, {}) for each in (1, 3, 4)] == [True, True, False]
    assert [may_pass({**late, "attempts": each}, {"transient": 1}) for each in (1, 2)] == [True, False]
    assert not may_pass(late, {"transient": 0})
    assert not may_pass(broken, {})
    assert not may_pass({"rc": 0}, {})
    assert not may_pass({**late, "skipped": True}, {})


class Pauses:
    """A clock that notes its pauses."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    def now(self) -> float:
        """See `Clock`."""
        return 0.0

    def sleep(self, seconds: float) -> None:
        """See `Clock`."""
        self.taken.append(seconds)


def test_before_a_further_try_is_a_pause_and_without_one_is_none() -> None:
    clock = Pauses()
    assert not tried_again({"rc": 1, "stderr": "no space left on device"}, {}, 30.0, clock)
    assert not tried_again({"rc": 0}, {}, 30.0, clock)
    assert clock.taken == []
    assert tried_again({"rc": 1, "stderr": REFUSED}, {}, 30.0, clock)
    assert clock.taken == [30.0]


WORKER = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import conftest, multiprocessing, os, signal
from ansible_collections.stateful.upgrade.plugins.plugin_utils.kubeadm_failures import tried_again

class Pause:
    def now(self):
        return 0.0

    def sleep(self, seconds):
        controller = os.getppid()
        if sys.argv[1] == "killed":
            os.kill(controller, signal.SIGKILL)
            while os.getppid() == controller:
                os.sched_yield()

def work():
    print(tried_again({{"rc": 1, "stderr": {REFUSED!r}}}, {{}}, 30.0, Pause()), flush=True)

worker = multiprocessing.get_context("fork").Process(target=work)
worker.start()
worker.join()
"""


@pytest.mark.parametrize(("end", "again"), [("killed", "False"), ("lives", "True")])
def test_a_worker_whose_controller_was_killed_in_the_pause_tries_no_more(end: str, again: str) -> None:
    done = subprocess.run([sys.executable, "-c", WORKER, end], check=False, capture_output=True, text=True)
    assert done.stdout == f"{again}\n", done.stderr
