"""Upgrades that empty the Kubernetes node of each batch for tasks of the user, such as a reboot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.lab.opensearch.layouts import seven_members
from tests.runs.shipped import bound
from tests.runs.turns import Killed
from tests.runs.world import CalledCluster, World, world
from tests.sandbox.kubernetes.kinds import NODES, PODS
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.web import Request
from tests.scenarios.playbook import PLAN, PLAYBOOK, without_images

FROM, TO = "2.19.6", "3.8.0"
PATH = "/api/v1/nodes"
LABEL = "upgrade.stateful/empties-for"
WEB = "web"
KILLS = (36, 37, 38, 44, 46, 47, 48, 49, 50, 51, 53, 60, 78, 98, 101, 107, 109, 111)
"""Acts of a run after which it is killed: around a cordon, an eviction, the deletions, the hand-over, the way back."""

OFTEN = (37, 38, 48, 50)
"""Those of them that are not left to `make soak`."""


@pytest.fixture
def here() -> Iterator[World]:
    """A world of its own, since Kubernetes nodes are common to all clusters."""
    with world() as made:
        yield made


def neighbours(here: World) -> None:
    """Three pods of another set, one on each Kubernetes node."""
    labels = {"app": WEB}
    spread = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": labels},
    }
    pod = {"containers": [{"name": "server", "image": "probe:1"}], "topologySpreadConstraints": [spread]}
    spec = {
        "replicas": 3,
        "serviceName": WEB,
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    here.sandbox.apply(
        [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": WEB}},
            {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": WEB, "namespace": WEB}, "spec": spec},
        ]
    )


@dataclass
class Emptied:
    """A cluster of two members on each of three Kubernetes nodes, and tasks that run while one of these is empty."""

    here: World
    folder: Path

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self.cluster: CalledCluster = self.here.cluster(FROM, seven_members)
        self.broken = self.folder / "broken"
        self.tasks = self.folder / "reboot.yml"
        self._known: set[str] = set()
        self.left: list[str] = []
        """The pods that were on a Kubernetes node when its tasks had run."""
        self.cordoned: list[list[str]] = []
        """The Kubernetes nodes that were cordoned then."""
        self.tasks.write_text(
            f"- ansible.builtin.fail: {{msg: The machine did not answer.}}\n"
            f"  when: \"'{self.broken}' is exists\"\n"
            f"- ansible.builtin.copy: {{dest: '{self.folder}/{{{{ upgrade_batch.empties[0] }}}}', content: x}}\n"
        )
        self.here.sandbox.apply(bound("opensearch/files/emptying_role.yml"))
        neighbours(self.here)
        self.here.later(30)
        self.here.calling.after = self._look

    def variables(self, **more: Any) -> dict[str, Any]:
        own: dict[str, Any] = {"upgrade_batching": "node", "upgrade_tasks_emptied": [str(self.tasks)]}
        return self.cluster.variables(TO, **own, **more)

    def _look(self, _request: Request) -> None:
        """See what is on a Kubernetes node at the first request after the tasks on it."""
        for name in sorted(self.noted - self._known):
            self._known.add(name)
            self.left += [f"{each} on {name}" for each in sorted(self.on(name))]
            self.cordoned.append([name for name in self.nodes() if self.node(name)["spec"].get("unschedulable")])

    @property
    def noted(self) -> set[str]:
        """The Kubernetes nodes on which the tasks have run."""
        return {each.name for each in self.folder.iterdir()} - {"reboot.yml", "broken"}

    @property
    def _store(self) -> Any:
        return self.here.sandbox.api.store

    def node(self, name: str) -> Json:
        return dict(self._store.get(NODES, "", name))

    def nodes(self) -> list[str]:
        return [each["metadata"]["name"] for each in self._store.list(NODES)]

    def nodes_left(self) -> list[str]:
        """The Kubernetes nodes that are cordoned, or have a mark or an undo."""
        return [
            name
            for name in self.nodes()
            if (node := self.node(name))["spec"].get("unschedulable")
            or LABEL in node["metadata"].get("labels", {})
            or any("upgrade.stateful" in each for each in node["metadata"].get("annotations", {}))
        ]

    def marked(self) -> list[str]:
        """The Kubernetes nodes with a mark."""
        return [name for name in self.nodes() if LABEL in self.node(name)["metadata"].get("labels", {})]

    def on(self, name: str) -> set[str]:
        """The pods on a Kubernetes node that no DaemonSet has."""
        pods = self._store.list(PODS)
        return {each["metadata"]["name"] for each in pods if each["spec"].get("nodeName") == name}

    def is_done(self) -> None:
        """Fails unless all is upgraded, each Kubernetes node with members was empty once, and nothing is left."""
        self.cluster.is_upgraded(TO)
        assert self.noted == {"node-a1", "node-b1", "node-c1"}
        assert self.left == []
        assert all(len(each) == 1 for each in self.cordoned)
        assert self.nodes_left() == []


@pytest.fixture
def emptied(here: World, tmp_path: Path) -> Emptied:
    return Emptied(here, tmp_path / "emptied")


def test_the_members_and_their_neighbours_leave_a_kubernetes_node_for_the_tasks(emptied: Emptied) -> None:
    here = emptied.here
    given = here.confirmed(emptied.variables())
    done = here.play(PLAYBOOK, given)
    assert done.code == 0, done.output
    emptied.is_done()
    before = emptied.cluster.fingerprint()
    again = here.play(PLAYBOOK, given)
    assert again.code == 0, again.output
    assert emptied.cluster.fingerprint() == before


def test_tasks_that_fail_are_taken_again_though_the_members_are_upgraded(emptied: Emptied) -> None:
    here = emptied.here
    emptied.broken.write_text("")
    failed = here.play(PLAYBOOK, here.confirmed(emptied.variables()))
    assert failed.code != 0
    said = "A task of upgrade_tasks_emptied has failed, so no further batch is begun: The machine did not answer."
    assert said in failed.output
    assert emptied.noted == set()
    assert len(emptied.marked()) == 1
    (marked,) = emptied.marked()
    assert not emptied.node(marked)["spec"].get("unschedulable"), "the members came back"
    here.later(60)
    emptied.broken.unlink()
    planned = here.play(PLAN, without_images(emptied.variables()))
    assert "to restart" in planned.output
    done = here.play(PLAYBOOK, here.confirmed(emptied.variables()))
    assert done.code == 0, done.output
    emptied.is_done()


def test_without_the_tasks_the_mark_of_a_failed_run_goes(emptied: Emptied) -> None:
    here = emptied.here
    emptied.broken.write_text("")
    assert here.play(PLAYBOOK, here.confirmed(emptied.variables())).code != 0
    here.later(60)
    done = here.play(PLAYBOOK, here.confirmed(emptied.cluster.variables(TO)))
    assert done.code == 0, done.output
    emptied.cluster.is_upgraded(TO)
    assert emptied.nodes_left() == []
    assert emptied.noted == set()


def killed_behind(emptied: Emptied, number: int) -> bool:
    """Whether a run had so many acts. It was killed after that one, and further runs have emptied what was left."""
    here = emptied.here
    given = here.confirmed(emptied.variables())
    if here.killed_behind(number, given) is not None:
        return False
    last = here.acts()[-1]
    done = here.play(PLAYBOOK, here.confirmed(given))
    assert done.code == 0, f"killed behind {last}\n{done.output}"
    emptied.is_done()
    return True


@pytest.mark.parametrize(
    "number", [pytest.param(each, marks=() if each in OFTEN else (pytest.mark.soak,)) for each in KILLS]
)
def test_killed_behind_an_act_and_run_again(emptied: Emptied, number: int) -> None:
    assert killed_behind(emptied, number)


def test_settle_uncordons_what_a_killed_run_has_left(emptied: Emptied) -> None:
    here = emptied.here
    given, before = here.confirmed(emptied.variables()), here.calling.after

    def kill(request: Request) -> None:
        before(request)
        if request.method == "POST" and request.path.endswith("/eviction"):
            raise Killed

    here.calling.after = kill
    with pytest.raises(Killed):
        here.play(PLAYBOOK, given)
    here.calling.after = before
    assert len(emptied.nodes_left()) == 1
    settled = here.play("stateful.upgrade.settle", emptied.cluster.variables(TO))
    assert settled.code == 0, settled.output
    assert emptied.nodes_left() == []


def test_each_pass_takes_a_kubernetes_node_to_its_end(emptied: Emptied) -> None:
    here = emptied.here
    given = here.confirmed(emptied.variables(upgrade_wait=False))
    for _number in range(60):
        done = here.play(PLAYBOOK, given)
        assert done.code == 0, done.output
        assert not any(emptied.node(name)["spec"].get("unschedulable") for name in emptied.nodes())
        if '"upgrade_state": "done"' in done.output:
            break
        here.later(10)
    emptied.is_done()


def test_check_mode_changes_nothing(emptied: Emptied) -> None:
    here = emptied.here
    before = [emptied.node(name)["spec"] for name in emptied.nodes()]
    done = here.play(PLAYBOOK, here.confirmed(emptied.variables()), "--check")
    assert done.code == 0, done.output
    assert [emptied.node(name)["spec"] for name in emptied.nodes()] == before
    assert emptied.nodes_left() == []
    assert emptied.noted == set()


def test_without_the_rights_to_drain_nothing_is_begun(here: World, tmp_path: Path) -> None:
    cluster, tasks = here.cluster(FROM, seven_members), tmp_path / "reboot.yml"
    tasks.write_text("- ansible.builtin.debug: {msg: reboot}\n")
    given = cluster.variables(TO, upgrade_batching="node", upgrade_tasks_emptied=[str(tasks)])
    planned = here.play(PLAN, without_images(given))
    assert planned.code != 0
    assert '"kubernetes_rights"' in planned.output
    assert "nodes" in planned.message
