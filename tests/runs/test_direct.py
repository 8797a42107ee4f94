"""A run without the executor of ansible-core asks the same of the servers as one with it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.lab.opensearch.layouts import Pool, seven_members, three_combined
from tests.runs import direct, executor
from tests.runs.machines import PLAYBOOK as PLAYBOOK_OF_MACHINES
from tests.runs.machines import machines
from tests.runs.on_hosts import CHECK, PLAYBOOK_OF_HOSTS, cluster_on_hosts
from tests.runs.random_runs.longhorn.stage import LonghornStage
from tests.runs.random_runs.longhorn.story import OUTSIDE, REPLACEMENT, LonghornStory
from tests.runs.random_runs.playing import START
from tests.runs.scripts import UnknownKeyword, checked
from tests.runs.test_machines_os_image import GIVEN, PASSING
from tests.runs.turns import Killed
from tests.runs.world import Driver, World, is_act, world
from tests.sandbox.longhorn.description import Machine, Volume
from tests.scenarios.playbook import PLAN, PLAYBOOK, Played, digest_in

OLDER, FROM, TO = "2.11.1", "2.19.6", "3.8.0"
COMBINED = ("cluster_manager", "data", "ingest")
NAMES = re.compile(r"runs-[0-9]+|[0-9a-f]{10,}|(?<=image-pull-)[a-z0-9]{5}")
"""Names that are other ones in each cluster."""
STATISTICS = re.compile(r'"upgrade_(?:state|waiting_for|reasons|cause)": (?:"[^"]*"|\[[^]]*\])')


@dataclass(frozen=True)
class Told:
    """All that a run shows."""

    codes: tuple[int, ...]
    asked: Mapping[str, int]
    acts: list[str]
    statistics: list[str]


def told(driver: Driver, layout: Any, variables: Mapping[str, Any], killed: int) -> Told:
    """A plan and a run with a driver, and another run if that is killed after an act of this number."""
    with world(driver) as here:
        cluster = here.cluster(OLDER if "upgrade_hops" in variables else FROM, layout)
        given = {**here.confirmed(cluster.variables(TO, **variables)), **variables}
        ends = [here.killed_behind(killed, given)] if killed else []
        return all_of(here, [*ends, here.play(PLAYBOOK, given)])


def all_of(here: World, ends: Sequence[Played | None]) -> Told:
    """All that these runs show."""
    asked = [f"{method} {NAMES.sub('…', path)}" for method, path in here.calling.answered]
    acts = [f"{method} {NAMES.sub('…', path)}" for method, path in here.acts()]
    ended = [each for each in ends if each is not None]
    counted = {each: asked.count(each) for each in sorted(set(asked))}
    said = [re.sub(r"\s+", " ", found) for each in ended for found in STATISTICS.findall(each.output)]
    return Told(tuple(each.code for each in ended), counted, acts, sorted(NAMES.sub("…", each) for each in said))


def told_of_longhorn(driver: Driver) -> Told:
    """A plan and a run on a Longhorn of three Kubernetes nodes, of which one has an engine."""
    nodes = ("n01", "n02", "n03")
    options = {"upgrade_accept_unverified": [REPLACEMENT]}
    volumes = (Volume("v", nodes, "n01"),)
    story = LonghornStory(0, OUTSIDE, tuple(map(Machine, nodes)), volumes, outlive=True, options=options)
    with world(driver, START) as here:
        stage = LonghornStage(here, story)
        planned = here.play(PLAN, stage.of_plan(stage.variables()))
        given = {**stage.variables(), "upgrade_confirm": digest_in(planned)}
        return all_of(here, [planned, here.play(stage.playbook, given)])


@pytest.mark.parametrize(
    ("layout", "variables", "killed"),
    [
        (three_combined, {}, 0),
        (three_combined, {}, 9),
        (three_combined, {}, 40),
        (three_combined, {"upgrade_at": "2099-01-01T00:00:00Z", "upgrade_wait": False}, 0),
        (three_combined, {"upgrade_wait": False}, 0),
        (three_combined, {"upgrade_confirm": "p00000000000"}, 0),
        (three_combined, {"upgrade_hops": FROM}, 0),
        (three_combined, {"upgrade_hops": FROM}, 74),
        (seven_members, {"upgrade_batching": "zones", "upgrade_canary": "opensearch-data-1"}, 0),
    ],
)
def test_both_drivers_ask_the_same(layout: Any, variables: Mapping[str, Any], killed: int) -> None:
    assert told(direct.play, layout, variables, killed) == told(executor.play, layout, variables, killed)


def test_both_drivers_ask_the_same_of_longhorn() -> None:
    by_itself = told_of_longhorn(direct.play)
    assert by_itself.codes == (0, 0)
    assert by_itself == told_of_longhorn(executor.play)


def told_of_hosts(driver: Driver, killed: int, lost: int) -> Told:
    """A plan and a run on six members on hosts. A run that is killed may come before it, or a host be lost in it."""
    with world(driver) as here, cluster_on_hosts(here, FROM, (Pool("members", 6, COMBINED),)) as cluster:
        cluster.ask("/orders", "PUT", {"settings": {"number_of_shards": 2, "number_of_replicas": 1}})
        cluster.until_green()
        given = cluster.variables(TO, upgrade_batching="zones")
        planned = here.play(PLAYBOOK_OF_HOSTS, given, *cluster.arguments, CHECK)
        given["upgrade_confirm"] = digest_in(planned)
        if killed:
            with here.killing_behind(killed), pytest.raises(Killed):
                here.play(PLAYBOOK_OF_HOSTS, given, *cluster.arguments)
        if lost:
            cluster.hosts["search-members-4"].service.fails = True
            left = itertools.count(lost, -1)
            here.calling.after = lambda asked: (
                cluster.doors["search-members-3"].close()
                if is_act(asked.method, asked.path) and next(left) == 1
                else None
            )
        return all_of(here, [planned, here.play(PLAYBOOK_OF_HOSTS, given, *cluster.arguments)])


@pytest.mark.parametrize(("killed", "lost"), [(0, 0), (21, 0), (0, 1), (0, 12)])
def test_both_drivers_ask_the_same_of_members_on_hosts(killed: int, lost: int) -> None:
    assert told_of_hosts(direct.play, killed, lost) == told_of_hosts(executor.play, killed, lost)


def told_of_machines(driver: Driver, target: str, more: Mapping[str, Any]) -> Told:
    """A plan and a run on three machines of the control plane and two others."""
    with world(driver) as here, machines(here, "1.35.4", ("1.36.1",), control_plane=3, workers=2) as found:
        if more:
            # One step of an agent is tried again, and one hangs until its time is over.
            found.machines["cp-2"].agent.fails = [PASSING]
            found.machines["worker-2"].agent.hangs = True
        planned = here.play(PLAYBOOK_OF_MACHINES, found.variables(target, **more), *found.arguments, CHECK)
        given = found.variables(target, upgrade_confirm=digest_in(planned), **more)
        return all_of(here, [planned, here.play(PLAYBOOK_OF_MACHINES, given, *found.arguments)])


@pytest.mark.parametrize(("more", "code"), [({}, 0), ({**GIVEN, "member_os_image_timeout": 600}, 2)])
def test_both_drivers_ask_the_same_of_machines(more: Mapping[str, Any], code: int) -> None:
    by_itself = told_of_machines(direct.play, "1.36.1", more)
    assert by_itself.codes == (0, code)
    assert by_itself == told_of_machines(executor.play, "1.36.1", more)


@pytest.mark.parametrize(
    "task",
    [
        {"name": "Wait", "ansible.builtin.fail": {}, "poll": 3},
        {"name": "Go on", "ansible.builtin.fail": {}, "run_once": True},
        {"name": "Later", "block": [{"ansible.builtin.fail": {}}], "always": [{"shell": "true"}]},
        {"name": "Another collection", "community.general.ping": {}},
    ],
)
def test_a_keyword_that_is_unknown_here_is_refused(task: Mapping[str, Any]) -> None:
    with pytest.raises(UnknownKeyword):
        checked([task], Path("tasks.yml"))
