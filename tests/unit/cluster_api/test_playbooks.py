"""A playbook of stateful.upgrade as the command of a worker: its plan, its consent, and the kind of its failure."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from extensions.cluster_api.cluster_api_extension.playbooks import (
    DRAIN_TASK,
    KINDS,
    failure_in,
    kind_of,
    reporting,
    statistics_in,
)
from extensions.cluster_api.cluster_api_extension.tasks import PASSING
from extensions.cluster_api.cluster_api_extension.worker import Worker, missing
from tests.unit.cluster_api.manifests import EXTENSION
from tests.unit.cluster_api.test_worker import SECONDS, Place, inside

DRAIN = "Stopped at machines-01 (Cordon the machines, and evict their pods): a pod is still there."
PLAYBOOK = """
import json, os, pathlib, sys
given = sys.argv[1:]
pathlib.Path(sys.argv[1]).open("a").write(" ".join(given[1:]) + "\\n")
assert os.environ["ANSIBLE_CALLBACKS_ENABLED"].endswith("stateful.upgrade.stats_file")
said = json.loads(sys.argv[2]) if "--check" in given else json.loads(sys.argv[3])
pathlib.Path(os.environ["STATEFUL_UPGRADE_STATS_FILE"]).write_text(json.dumps(said))
raise SystemExit(2 if said.get("upgrade_state") == "refused" else 0)
"""
ROOT = EXTENSION.parents[1]
PLAN, DONE = {"upgrade_confirm": "p1"}, {"upgrade_state": "done"}


@pytest.mark.parametrize(
    ("codes", "cause", "kind"),
    [
        (["control_plane_behind"], "", "refused"),
        (["drain_blocked", "timed_out"], "", "drain_timeout"),
        (["timed_out"], DRAIN, "drain_timeout"),
        (["timed_out"], "", "gate_timeout"),
        (["run_time_over"], "", "gate_timeout"),
        (["kubernetes_unreachable", "timed_out"], "", "unreachable"),
        (["locked"], "", "run_failed"),
        (["not_confirmed"], "", "run_failed"),
        (["stopped_by_request", "timed_out"], "", "aborted"),
        (["timed_out", "kubernetes_rights"], DRAIN, "refused"),
        (["a_code_of_tomorrow"], "", "refused"),
    ],
)
def test_the_kind_of_a_failure_by_its_codes(codes: list[str], cause: str, kind: str) -> None:
    assert kind_of(codes, cause) == kind
    assert (kind in PASSING) == (kind != "refused")


@pytest.mark.parametrize(
    ("code", "statistics", "kind"),
    [
        (0, DONE, None),
        (0, {"upgrade_state": "waiting", "upgrade_waiting_for": ["A pod leaves."]}, "gate_timeout"),
        (0, {}, "run_failed"),
        (0, PLAN, "run_failed"),
        (2, {"upgrade_state": "refused", "upgrade_reasons": []}, "run_failed"),
        (4, {"upgrade_state": "refused", "upgrade_reasons": []}, "unreachable"),
        (4, {}, "unreachable"),
        (1, {}, ""),
        (2, {**DONE, "upgrade_reasons": ["own_tasks_failed"]}, "refused"),
    ],
)
def test_the_end_of_a_playbook_is_done_only_if_it_says_so(code: int, statistics: Any, kind: str | None) -> None:
    assert failure_in(code, statistics).get("kind") == kind


def test_the_codes_are_those_of_the_collection_and_the_task_is_that_of_its_role() -> None:
    page = (ROOT / "docs" / "reference" / "reasons.md").read_text(encoding="utf-8")
    for codes in KINDS.values():
        assert [each for each in codes if f"\n| `{each}` |" not in page] == []
    tasks = yaml.safe_load((ROOT / "roles/machines/tasks/drain.yml").read_text(encoding="utf-8"))
    assert DRAIN_TASK.strip("()") in [each["name"] for each in tasks]


def test_callbacks_that_are_enabled_stay() -> None:
    enabled = reporting({"ANSIBLE_CALLBACKS_ENABLED": "ansible.posix.timer"}, "/file")["ANSIBLE_CALLBACKS_ENABLED"]
    assert enabled == "ansible.posix.timer,stateful.upgrade.stats_file"


@pytest.mark.parametrize("written", ["", "{", "[]", "3"])
def test_a_file_that_cannot_be_read_has_no_statistics(written: str) -> None:
    assert statistics_in(written) == {}


def test_an_empty_placeholder_is_missing_only_where_it_is_used() -> None:
    words = {"kubernetes_node": "", "version": "1.36.1", "cluster": ""}
    assert missing(["-e", "upgrade_only={kubernetes_node}", "{version}"], words) == ["kubernetes_node"]


def worker(place: Place, file: Path, plan: Any, run: Any) -> Worker:
    command = [sys.executable, "-c", PLAYBOOK, str(file), json.dumps(plan), json.dumps(run)]
    return Worker(place.claims("run-1"), command, SECONDS, place.management.now, confirms=True)


@pytest.mark.parametrize(
    ("plan", "run", "state", "calls"),
    [
        (PLAN, DONE, "done", ["--check", "--extra-vars upgrade_confirm=p1"]),
        ({"upgrade_state": "refused", "upgrade_reasons": ["kubelet_newer"]}, DONE, "failed", ["--check"]),
        ({}, DONE, "waiting", ["--check"]),
        (PLAN, {"upgrade_state": "waiting"}, "waiting", ["--check", "--extra-vars upgrade_confirm=p1"]),
    ],
)
def test_the_plan_is_asked_for_first_and_that_one_is_agreed_to(
    plan: Any, run: Any, state: str, calls: list[str], tmp_path: Path
) -> None:
    async def body(place: Place) -> None:
        await place.ask("one")
        assert await worker(place, tmp_path / "calls", plan, run).work_once()
        assert place.task("one")["state"] == state
        lines = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
        assert [line.partition(json.dumps(run))[2].strip() for line in lines] == calls

    inside(body)


class Superseded:
    """The process of a plan, during which another target is asked for."""

    pid = 0

    def __init__(self, place: Place, file: str) -> None:
        self._place, self._file = place, Path(file)

    async def wait(self) -> int:
        """The exit code."""
        await self._place.ask("one", "v1.36.2")
        self._file.write_text(json.dumps(PLAN), encoding="utf-8")
        return 0


def test_an_abort_while_the_plan_is_made_ends_the_task_before_anything_is_done() -> None:
    commands: list[Sequence[str]] = []

    async def body(place: Place) -> None:
        async def begin(command: Sequence[str], environment: Mapping[str, str]) -> Superseded:
            commands.append(command)
            return Superseded(place, environment["STATEFUL_UPGRADE_STATS_FILE"])

        await place.ask("one")
        made = Worker(place.claims("run-1"), ["playbook"], SECONDS, place.management.now, begin, confirms=True)
        assert await made.work_once()
        task = place.task("one")
        assert (task["state"], task["kind"], task["abort"]) == ("waiting", "aborted", True)
        assert commands == [["playbook", "--check"]]

    inside(body)
