"""The layouts that the ways and a CPU limit make, and the sentence about a limit that cannot be had."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks import __main__ as benchmark
from tests.benchmarks.precedence import first_served
from tests.benchmarks.ways import WAYS, with_cpu_limit
from tests.lab.kubelet.limits import PREFIX, hierarchy, obstacle
from tests.lab_command import LAYOUTS


def containers(layout: Any) -> list[dict[str, Any]]:
    manifests = layout("search", "3.8.0", address=lambda _namespace, pod: f"{pod}.address")
    pools = [manifest["spec"]["template"] for manifest in manifests if manifest["kind"] == "StatefulSet"]
    return [container for pool in pools for container in pool["spec"]["containers"]]


@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize("members", list(LAYOUTS))
def test_in_every_way_the_members_of_all_pools_have_the_limit(way: str, members: str) -> None:
    usual = WAYS[way].layout(LAYOUTS[members])
    limited = containers(with_cpu_limit(usual, "400m"))
    requests = {"cpu": "100m", "memory": "400Mi"}
    assert [one.pop("resources") for one in limited] == [{"requests": requests, "limits": {"cpu": "400m"}}] * len(
        limited
    )
    without = containers(usual)
    assert [{**one, "resources": None} for one in without] == [{**one, "resources": None} for one in limited]


def test_no_member_requests_more_than_its_limit() -> None:
    for container in containers(with_cpu_limit(LAYOUTS["seven"], "0.05")):
        assert container["resources"]["requests"]["cpu"] == container["resources"]["limits"]["cpu"] == "0.05"


def test_together_the_members_may_compute_as_much_as_the_machine_can() -> None:
    assert {name: len(containers(layout)) for name, layout in LAYOUTS.items()} == {"three": 1, "seven": 3}
    assert [benchmark.share(members, 2) for members in benchmark.NUMBERS.values()] == ["650m", "300m"]


@pytest.mark.skipif(bool(obstacle("100m")), reason=f"no control groups here: {obstacle('100m')}")
def test_who_upgrades_and_all_that_it_starts_go_before_the_others_until_it_is_done() -> None:
    shown = "import pathlib; print(pathlib.Path('/proc/self/cgroup').read_text())"
    usual = Path("/proc/self/cgroup").read_text()
    with first_served() as had:
        command = [sys.executable, "-c", shown]
        inside = subprocess.run(command, start_new_session=True, capture_output=True, text=True, check=True).stdout
    assert had
    assert f"{PREFIX}-first-" in inside
    assert Path("/proc/self/cgroup").read_text() == usual
    found = hierarchy()
    assert found is not None
    assert not (found.root / f"{PREFIX}-first-{os.getpid()}").exists()


@pytest.mark.parametrize(
    ("limit", "sentence"),
    [
        ("400x", "'400x' is not a quantity of CPU such as 400m, 0.5 or 1"),
        ("0m", "'0m' is no limit; it must be more than 0"),
        ("400m", "a limit of 400m cannot be enforced on this machine: no rights"),
    ],
)
def test_a_limit_that_cannot_be_had_ends_the_benchmark_before_it_begins(
    limit: str, sentence: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(benchmark, "obstacle", lambda _limit: "no rights")
    with pytest.raises(SystemExit) as ended:
        benchmark.main(["--cpu", limit])
    assert ended.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith(f"error: argument --cpu: {sentence}")
