"""Upgrades of machines over several minor versions in one run: each version on all machines before the next one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.judge.skew import MOST_HOPS
from ansible_collections.stateful.upgrade.plugins.module_utils.run.order import GROUP

from tests.runs.machines import CHECK, NAMESPACE, PLAYBOOK, Machines, machines
from tests.runs.observer.looking import RECORD
from tests.runs.sampled import one_in
from tests.runs.shipped import rights_of_machines
from tests.runs.test_machines import codes, cordoned
from tests.runs.test_openshift_chain import plan_text
from tests.runs.turns import Killed
from tests.runs.upgrade_tasks import Upgrader
from tests.runs.world import World, world
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS, NODES
from tests.sandbox.kubernetes.store import Change
from tests.scenarios.cluster import USER
from tests.scenarios.playbook import Played, digest_in

FROM, ON_THE_WAY, TO = "1.33.9", ("1.34.8", "1.35.4"), "1.36.1"
HOPS = (*ON_THE_WAY, TO)
CHAIN: dict[str, Any] = {"upgrade_through": [*ON_THE_WAY]}
ALONE: dict[str, Any] = {"upgrade_allow_quorum_loss": True}


class Chained:
    """A cluster that notes each version to which a kubelet has come."""

    def __init__(self, found: Machines) -> None:
        self.found = found
        self.came: list[tuple[str, str]] = []
        """The versions with their machines, in the order in which they came to be."""
        self._then: dict[tuple[str, str], Callable[[], object]] = {}
        found.here.sandbox.kubernetes.server.resources.store.listeners.append(self._changed)

    def when_at(self, version: str, machine: str, then: Callable[[], object]) -> None:
        """Have something happen as soon as the kubelet of a machine has come to a version."""
        self._then[version, machine] = then

    def _changed(self, change: Change) -> None:
        if change.kind == NODES and change.before is not None and change.type != "DELETED":
            before, after = (each["status"]["nodeInfo"]["kubeletVersion"] for each in (change.before, change.item))
            if before != after:
                now = after.removeprefix("v"), change.item["metadata"]["name"]
                self.came.append(now)
                self._then.pop(now, lambda: None)()

    def has_come(self, *versions: str) -> None:
        """Fails unless each machine has come to each of these versions once, and all to one before one to the next."""
        names = {*self.found.machines}
        assert [version for version, _name in self.came] == [each for each in versions for _name in names]
        for place, version in enumerate(versions):
            there = self.came[place * len(names) : (place + 1) * len(names)]
            assert {name for _version, name in there} == names, version
        assert self.found.cluster.is_upgraded(versions[-1])
        assert cordoned(self.found) == []
        assert len(names) == 2 or self.found.cluster.control_plane.least_voters >= 2


@pytest.fixture
def here() -> Iterator[World]:
    """A world of this test alone, with hosts."""
    with world() as made:
        yield made


@pytest.fixture
def chained(here: World) -> Iterator[Chained]:
    """Three machines of the control plane and two workers, three minor versions behind."""
    with machines(here, FROM, HOPS, workers=2, balanced=True) as made:
        here.sandbox.apply(rights_of_machines(NAMESPACE))
        yield Chained(made)


@pytest.fixture
def small(here: World) -> Iterator[Chained]:
    """One machine of the control plane and one worker."""
    with machines(here, FROM, HOPS, control_plane=1, workers=1, balanced=True) as made:
        here.sandbox.apply(rights_of_machines(NAMESPACE))
        yield Chained(made)


def upgraded(chained: Chained, **more: Any) -> Played:
    """A run with consent to the present plan."""
    return chained.found.upgraded(TO, user=USER, **{**CHAIN, **more})


def planned(chained: Chained, target: str = TO, **more: Any) -> Played:
    """The plan, which changes nothing."""
    given = chained.found.variables(target, user=USER, **{**CHAIN, **more})
    return chained.found.here.play(PLAYBOOK, given, *chained.found.arguments, CHECK)


def agreed(chained: Chained, **more: Any) -> dict[str, Any]:
    """The variables of a run with consent to the present plan."""
    shown = planned(chained, **more)
    assert shown.code == 0, shown.output
    given = chained.found.variables(TO, user=USER, **{**CHAIN, **more})
    return {**given, "upgrade_confirm": digest_in(shown)}


def play(chained: Chained, given: dict[str, Any]) -> Played:
    """A run."""
    return chained.found.here.play(PLAYBOOK, given, *chained.found.arguments)


def records(chained: Chained) -> list[dict[str, Any]]:
    """The records of upgrades."""
    maps = chained.found.here.sandbox.kubernetes.server.resources.store.each(CONFIG_MAPS, NAMESPACE)
    return [json.loads(each["data"][RECORD]) for each in maps if RECORD in (each.get("data") or {})]


def steps(chained: Chained, name: str) -> list[str]:
    """The upgrades of kubeadm on a machine."""
    return chained.found.machines[name].commands.upgrades


def test_one_run_takes_all_machines_from_version_to_version(chained: Chained) -> None:
    """One consent, one record; a second run has nothing to do."""
    shown = planned(chained)
    text = plan_text(shown)
    assert text in (Path(__file__).parents[2] / "docs" / "machines.md").read_text(encoding="utf-8")
    for version in HOPS:
        assert f"kubeadm, kubelet and kubectl {version}: 5 machines in batches " in text
    ended = play(chained, agreed(chained))
    assert ended.code == 0, ended.output
    chained.has_come(*HOPS)
    assert "5 upgraded to 1.36.1 · everything put back · all machines are Ready" in ended.output
    # The first machine of the control plane of each version writes it, behind a snapshot of etcd.
    applied = {name: [each for each in steps(chained, name) if " apply " in each] for name in chained.found.machines}
    assert sorted(each.split()[-1] for ran in applied.values() for each in ran) == [f"v{each}" for each in HOPS]
    ran = [each for machine in chained.found.machines.values() for each in machine.commands.ran]
    plans = [each.split()[3] for each in ran if each.startswith("kubeadm upgrade plan ")]
    assert sorted(plans) == [f"v{each}" for each in HOPS], "the whole cluster is planned once for each version"
    taken = [name for each in chained.found.machines.values() for name in each.commands.snapshots]
    assert sorted(name.rpartition("/")[2].split("-")[2] for name in taken) == [*HOPS]
    assert {len(steps(chained, name)) for name in chained.found.machines} == {3}
    (record,) = records(chained)
    assert (record["phase"], record["target_version"], len(record["batches"])) == ("Completed", TO, 15)
    again = upgraded(chained)
    assert again.code == 0, again.output
    assert "Nothing to do: every machine runs 1.36.1." in again.output
    chained.has_come(*HOPS)


def goes_on_behind(chained: Chained, number: int, **more: Any) -> None:
    """Fails unless a run that is killed after an act is continued at the right version by the next one."""
    given = agreed(chained, **more)
    with chained.found.here.killing_behind(number), pytest.raises(Killed):
        play(chained, given)
    # The lock of a killed run lapses, and the commands that it has started end.
    chained.found.here.later(900)
    ended = play(chained, given)
    assert ended.code == 0, ended.output
    chained.has_come(*HOPS)
    (record,) = records(chained)
    assert record["phase"] == "Completed"


@pytest.mark.parametrize("number", one_in(5, range(5, 90, 4)))
def test_a_run_that_is_killed_behind_an_act_goes_on_at_the_right_version(small: Chained, number: int) -> None:
    goes_on_behind(small, number, **ALONE)


@pytest.mark.soak
@pytest.mark.parametrize("number", range(4, 220, 9))
def test_a_run_on_five_machines_that_is_killed_goes_on_at_the_right_version(chained: Chained, number: int) -> None:
    goes_on_behind(chained, number)


def test_a_version_that_cannot_be_prepared_ends_the_run_with_all_machines_on_the_one_before(chained: Chained) -> None:
    packages = chained.found.machines["worker-2"].packages
    packages.available.discard("1.35.4")
    given = agreed(chained)
    failed = play(chained, given)
    assert failed.code != 0
    assert (
        "worker-2, See that the packages can be installed: no available installation candidate for kubeadm=1.35.4"
        in failed.message
    )
    chained.has_come("1.34.8")
    packages.available.add("1.35.4")
    ended = play(chained, given)
    assert ended.code == 0, ended.output
    chained.has_come(*HOPS)


@pytest.mark.soak
def test_a_failure_on_a_machine_in_the_middle_is_where_the_next_run_goes_on(chained: Chained) -> None:
    commands = chained.found.machines["cp-3"].commands
    chained.when_at("1.34.8", "worker-2", lambda: setattr(commands, "upgrade_fails", "error: no space left"))
    given = agreed(chained)
    failed = play(chained, given)
    assert failed.code != 0
    assert "no space left" in failed.message
    assert cordoned(chained.found) == []
    assert [version for version, _name in chained.came].count("1.35.4") in {1, 2}
    assert "1.36.1" not in {version for version, _name in chained.came}
    commands.upgrade_fails = ""
    shown = plan_text(planned(chained))
    assert "kubeadm, kubelet and kubectl 1.34.8" not in shown
    assert "kubeadm, kubelet and kubectl 1.35.4" in shown
    ended = play(chained, given)
    assert ended.code == 0, ended.output
    chained.has_come(*HOPS)


def test_a_machine_that_cannot_be_reached_any_more_ends_the_run_before_the_next_version(chained: Chained) -> None:
    door = chained.found.doors["worker-1"]
    chained.when_at("1.34.8", "worker-2", door.close)
    given = agreed(chained)
    failed = play(chained, given)
    assert failed.code != 0
    assert "worker-1 could not be reached any more" in failed.output
    chained.has_come("1.34.8")
    door.open()
    ended = play(chained, given)
    assert ended.code == 0, ended.output
    chained.has_come(*HOPS)


@pytest.mark.soak
def test_the_control_plane_goes_all_the_way_and_then_the_workers(chained: Chained) -> None:
    masters, workers = ["cp-1", "cp-2", "cp-3"], ["worker-1", "worker-2"]
    early = planned(chained, upgrade_only=workers)
    assert codes(early) == ["control_plane_behind"]
    ended = play(chained, agreed(chained, upgrade_only=masters))
    assert ended.code == 0, ended.output
    assert {name for _version, name in chained.came} == {*masters}
    assert chained.found.cluster.version() == TO
    ended = play(chained, agreed(chained, upgrade_only=workers))
    assert ended.code == 0, ended.output
    assert chained.came[9:] == [(version, name) for version in HOPS for name in workers]
    assert chained.found.cluster.is_upgraded(TO)


def test_passes_go_on_with_the_chain(small: Chained) -> None:
    given = agreed(small, **ALONE, upgrade_wait=False)
    for _pass in range(20):
        ended = play(small, given)
        assert ended.code == 0, ended.output
        if '"upgrade_state": "done"' in ended.output:
            break
        small.found.here.later(300)
    small.has_come(*HOPS)


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        ({"upgrade_through": ["1.35.4", "1.34.8"]}, "chain_unordered", "1.35.4 comes before 1.34.8"),
        ({"upgrade_through": [*ON_THE_WAY, TO]}, "chain_unordered", "1.36.1 comes before 1.36.1"),
        ({"upgrade_through": ["1.34.8", "next"]}, "version_unreadable", "next is not a version of Kubernetes"),
        ({"upgrade_through": ["1.34.8"]}, "minor_skipped", "1.33.9 → 1.34.8 → the newest version of 1.35 → 1.36.1"),
        ({"upgrade_through": []}, "minor_skipped", "Set upgrade_through to a version of each minor version on the way"),
        (
            {"upgrade_through": ["1.34.7", *ON_THE_WAY, "1.36.0"]},
            "chain_too_long",
            "Give 1.36.0 as the target, and upgrade again from there.",
        ),
    ],
)
def test_a_chain_that_cannot_be_gone_is_refused_when_it_is_planned(
    small: Chained, more: dict[str, Any], code: str, said: str
) -> None:
    refused = planned(small, **ALONE, **more)
    assert refused.code != 0
    assert codes(refused) == [code], refused.output
    assert said in refused.output


def test_a_control_plane_of_cluster_api_has_no_chain(small: Chained) -> None:
    notes = {"cluster.x-k8s.io/owner-kind": "KubeadmControlPlane"}
    resources = small.found.here.sandbox.kubernetes.server.resources
    resources.change(NODES, "", "cp-1", lambda item: item["metadata"].setdefault("annotations", {}).update(notes))
    assert codes(planned(small, **ALONE)) == ["chain_owned"]


def test_the_digest_covers_the_chain(small: Chained) -> None:
    for each in small.found.machines.values():
        each.packages.available.add("1.34.7")
    other = agreed(small, **ALONE, upgrade_through=["1.34.7", "1.35.4"])
    assert agreed(small, **ALONE)["upgrade_confirm"] != other["upgrade_confirm"]


def test_the_playbook_has_the_plays_of_as_many_versions_as_a_plan_may_have() -> None:
    playbook = yaml.safe_load((Path(__file__).parents[2] / "playbooks" / "machines.yml").read_text(encoding="utf-8"))
    further = [each["vars"]["roll_group"] for each in playbook if "next_version" in str(each)]
    assert further == [f"{GROUP}_{number}" for number in range(2, MOST_HOPS + 1)]


@pytest.mark.soak
def test_tasks_and_variables_of_the_user_know_the_version_of_the_batch(small: Chained, tmp_path: Path) -> None:
    tasks = tmp_path / "after.yml"
    tasks.write_text(
        '- ansible.builtin.debug: {msg: "now {{ upgrade_batch.members | first }} has {{ upgrade_version }}"}\n'
    )
    # The machines, too, look for the programs of each version.
    address = {"member_kubeadm_url": "https://programs.test/v{{ upgrade_version }}"}
    ended = play(small, agreed(small, **ALONE, **address, upgrade_tasks_after_batch=str(tasks)))
    assert ended.code == 0, ended.output
    for version in HOPS:
        for name in small.found.machines:
            assert f"now {name} has {version}" in ended.output


def test_agents_write_an_image_for_each_version(small: Chained) -> None:
    images = {
        version: {"url": f"https://images.test/{version}.raw", "sha256": f"{n}a" * 32} for n, version in enumerate(HOPS)
    }
    given: dict[str, Any] = {
        "upgrade_member_role": "stateful.upgrade.member_os_image",
        "member_os_image_command": ["osagent"],
        "images": images,
        "member_os_image_image": "{{ images[upgrade_version] }}",
        "member_os_image_interval": 30,
    }
    ended = play(small, agreed(small, **ALONE, **given))
    assert ended.code == 0, ended.output
    small.has_come(*HOPS)
    for name, machine in small.found.machines.items():
        written = [each["image"]["url"] for each in machine.agent.documents if each["activate"]]
        assert written == [images[version]["url"] for version in HOPS], name
        assert machine.agent.boots == 4


def test_an_upgrader_gets_each_version_by_its_own_node_update(small: Chained) -> None:
    upgrader = Upgrader(small.found)
    ended = play(small, agreed(small, **ALONE, upgrade_member_role="stateful.upgrade.member_delegated"))
    assert ended.code == 0, ended.output
    small.has_come(*HOPS)
    begun = [(f"{name}-{step}-drain", 1) for name in small.found.machines for step in ("before", "after")]
    assert sorted(upgrader.began) == sorted(begun * 3)


def test_a_host_with_the_name_of_a_batch_is_not_taken_for_it(small: Chained) -> None:
    found = small.found
    written = Path(found.arguments[1])
    inventory = json.loads(written.read_text())
    workers = inventory["all"]["children"]["workers"]["hosts"]
    workers["machines-04"] = {**workers.pop("worker-1"), "upgrade_member": "worker-1"}
    named = written.with_name("named.json")
    named.write_text(json.dumps(inventory))
    given = found.variables(TO, user=USER, **CHAIN, **ALONE)
    shown = found.here.play(PLAYBOOK, given, "-i", str(named), CHECK)
    ended = found.here.play(PLAYBOOK, {**given, "upgrade_confirm": digest_in(shown)}, "-i", str(named))
    assert ended.code == 0, ended.output
    small.has_come(*HOPS)
