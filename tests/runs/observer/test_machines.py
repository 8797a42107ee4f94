"""The observer on whole runs of machines: it finds nothing in runs that are right, and each of the bugs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.runs.machines import ROLE, Machines, decided, host_of, machines
from tests.runs.observer.machine_work import given_at_work, is_work, repeated, restarts_kubelet, upgrades_by_kubeadm
from tests.runs.observer.machines import BUGS, MachinesObserver
from tests.runs.random_runs.machines.story import FROM, PATIENCE, WAYS, MachinesStory
from tests.runs.random_runs.playing import Ending
from tests.runs.random_runs.story import Event
from tests.runs.random_runs.systems import SYSTEMS
from tests.runs.sampled import one_in
from tests.runs.world import world
from tests.sandbox.kubeadm.agent import BEGUN, DONE, REMOVED
from tests.sandbox.plain_hosts.jobs import PATH
from tests.sandbox.web import Request

TO = "1.36.1"


def played(*events: Event, control_plane: int = 3, workers: int = 2, **more: Any) -> Ending:
    """An upgrade of some machines, to its end."""
    story = MachinesStory(0, TO, control_plane, workers, True, options=PATIENCE, events=events, **more)
    return SYSTEMS["machines"].play(story)


def test_nothing_is_wrong_in_an_upgrade() -> None:
    ending = played()
    assert (ending.faults, ending.refused, ending.runs) == ([], "", 1)


@pytest.mark.parametrize("act", one_in(3, [73, 100, 150, 200, 250, 300]))
def test_nothing_is_wrong_in_a_run_that_was_killed_and_the_next_one(act: int) -> None:
    ending = played(Event(act, "kill"))
    assert (ending.faults, ending.refused, ending.runs) == ([], "", 2)


FINDING: dict[str, dict[str, Any]] = {
    "delegated_work_again": {"delegated": True},
    "machine_not_held": {"owned": True, "by_task": True},
    "operation_again": {"by_image": True},
    "versions_passed_over": {"start": WAYS[0][0], "through": WAYS[0][1:]},
    "workloads_not_ready": {"workers": 6, "database": True},
}
"""The stories without which a bug has no consequence."""


RULE = re.compile(r"\[(\w+)\]")
OFTEN = {"kubeadm_again", "machine_not_held", "return_not_awaited"}
"""The bugs that are not left to the long tests."""


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=() if each in OFTEN else (pytest.mark.soak,)) for each in BUGS]
)
def test_the_observer_finds_a_bug(name: str) -> None:
    put_in, broken = BUGS[name]
    with put_in():
        ending = played(Event(300, "kill"), **FINDING.get(name, {}))
    assert any(f"[{rule}]" in fault for rule in broken for fault in ending.faults), ending.text()
    # A machine that is worked on twice breaks no other rule. Its run may fail, which is a fault without a rule.
    if broken == {"twice"}:
        assert {each for fault in ending.faults for each in RULE.findall(fault)} == {"twice"}, ending.text()


@pytest.fixture
def made() -> Iterator[Machines]:
    """A machine of the control plane, and a worker."""
    with world() as here, machines(here, FROM, [TO], control_plane=1, workers=1) as found:
        yield found


def take(made: Machines, name: str, *steps: str, **variables: Any) -> list[Request]:
    """The requests of steps of the role on one machine, which no run has locked."""
    include = {"name": ROLE, "tasks_from": "{{ upgrade_step }}"}
    loop = {"loop": ["look", *steps], "loop_control": {"loop_var": "upgrade_step"}}
    tasks = [{"ansible.builtin.include_role": include, **loop}]
    path = made.folder / "steps.yml"
    play = {"hosts": host_of(name, made.cluster.described), "gather_facts": False, "tasks": tasks}
    path.write_text(json.dumps([play]), encoding="utf-8")
    found: list[Request] = []
    made.here.calling.after = found.append
    given = {"target_version": TO, **decided(name, "cp-1", TO), **variables}
    done = made.here.play(str(path), given, *made.arguments)
    assert done.code == 0, done.output
    return found


URL = {"member_kubeadm_url": f"https://programs.test/v{TO}"}


@pytest.mark.parametrize("given", [{}, URL], ids=["packages", "programs"])
@pytest.mark.parametrize("name", ["cp-1", "worker-1"])
def test_the_work_of_the_role_needs_the_lock_and_is_done_once(made: Machines, name: str, given: dict[str, Any]) -> None:
    observer = MachinesObserver(made.here.sandbox, made, 1, (FROM, TO))
    with observer.watching():
        prepared = take(made, name, "prepare", **given)
        assert not [each for each in prepared if upgrades_by_kubeadm(each) or restarts_kubelet(each)]
        assert observer.found == []
        done = take(made, name, "before_drain", "after_drain", **given)
        assert [len([*filter(each, done)]) for each in (upgrades_by_kubeadm, restarts_kubelet)] == [1, 1]
        assert {each.rule for each in observer.found} == {"lock"}
        assert len(observer.found) == len([*filter(is_work, done)])
        take(made, name, "before_drain", **given)
    assert [each.said for each in observer.found if each.rule == "twice"] == [
        f"kubeadm upgrade is begun on {name}, whose kubelet was restarted on {TO}"
    ]


@pytest.mark.parametrize(
    ("module", "options", "works"),
    [
        ("command", {"argv": ["flock", "/run/lock/one", "kubeadm", "upgrade", "node"]}, True),
        ("command", {"argv": ["/opt/bin/kubeadm", "upgrade", "apply", "-y", "v1.36.1"]}, True),
        ("command", {"argv": ["kubeadm", "upgrade", "apply", "--dry-run", "-y", "v1.36.1"]}, False),
        ("command", {"argv": ["kubeadm", "upgrade", "plan", "v1.36.1"]}, False),
        ("command", {"argv": ["kubeadm", "version", "-o", "short"]}, False),
        ("command", {"argv": ["osagent", "submit"]}, True),
        ("command", {"argv": ["osagent", "status"]}, False),
        ("systemd", {"name": "kubelet", "state": "restarted"}, True),
        ("systemd", {"name": "kubelet"}, False),
        ("apt", {"name": ["kubelet=1.36.1-*"]}, True),
        ("apt", {"update_cache": True}, False),
        ("stat", {"path": "/proc/1/exe"}, False),
    ],
)
def test_work_on_a_machine_is_known_by_its_module(module: str, options: dict[str, Any], works: bool) -> None:
    path = f"{PATH}10.2.0.1/modules/{module}"
    assert is_work(Request("POST", path, body=options)) is works
    # In check mode a module only looks.
    assert not is_work(Request("GET", path, body=options))


@pytest.mark.parametrize(
    ("events", "again"),
    [
        ([(BEGUN, "a-1"), (BEGUN, "a-2"), (DONE, "a-2")], []),
        ([(BEGUN, "a-1"), (DONE, "a-1"), (BEGUN, "b-1")], []),
        ([(BEGUN, "a-1"), (DONE, "a-1"), (BEGUN, "a-2")], ["a-2"]),
        ([(BEGUN, "a-1"), (DONE, "a-1"), (REMOVED, ""), (BEGUN, "a-2")], []),
    ],
    ids=["after a failure", "of another configuration", "after a good end", "after a person"],
)
def test_an_operation_is_not_begun_after_a_good_end(events: list[tuple[str, str]], again: list[str]) -> None:
    assert [*repeated(events)] == again


@pytest.mark.parametrize(("at_work", "found"), [("", 0), ("a-1", 0), ("a-2", 1), ("b-1", 1)])
def test_no_other_operation_is_submitted_while_one_is_under_way(at_work: str, found: int) -> None:
    said = [*given_at_work("worker-1", json.dumps({"operation": "a-1"}), at_work)]
    assert len(said) == found
    assert all("worker-1" in each and "a-1" in each and at_work in each for each in said)
