"""Replicas for single copies in whole runs: made before the first batch, and back to what was in every ending."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.runs.extra_members import DATA, FourMembers
from tests.runs.on_hosts import CHECK, PLAYBOOK_OF_HOSTS, ClusterOnHosts, cluster_on_hosts
from tests.runs.sampled import one_in
from tests.runs.test_on_hosts import POOL
from tests.runs.turns import Killed
from tests.runs.world import CalledCluster, World, world
from tests.sandbox.opensearch.model import TOTAL
from tests.sandbox.web import Answer, Request
from tests.scenarios.cluster import RESTART_ROLE, bound
from tests.scenarios.playbook import PLAN, PLAYBOOK, digest_in

FROM, TO = "2.19.6", "3.8.0"
SETTLE, ABORT, RESTART = "stateful.upgrade.settle", "stateful.upgrade.abort", "stateful.upgrade.restart"
THRESHOLD = "cluster.routing.allocation.disk.threshold_enabled"
UNDO = "cluster.metadata.stateful_upgrade.replicas"
RAISE = {"upgrade_raise_replicas": True}
NOTHING = '{"persistent": {}, "transient": {}}'


@pytest.fixture(scope="module")
def here() -> Iterator[World]:
    """One world for all tests of this module, each with a cluster of its own."""
    with world() as made:
        yield made


@pytest.fixture
def cluster(here: World) -> CalledCluster:
    """A cluster with single copies of every kind, and an index that has a replica."""
    return with_indices(here.cluster(FROM))


def with_indices(made: CalledCluster) -> CalledCluster:
    """The cluster with its indices, some of which have no replica."""
    kinds: dict[str, dict[str, Any]] = {
        "orders": {"number_of_shards": 2, "number_of_replicas": 0},
        ".ds-logs-000001": {"number_of_replicas": 0, "hidden": True},
        "never": {"number_of_replicas": 0, "auto_expand_replicas": "0-0"},
        "closed": {"number_of_replicas": 0},
        "safe": {"number_of_replicas": 1},
    }
    for name, settings in kinds.items():
        made.ask(f"/{name}", "PUT", {"settings": {"number_of_shards": 1, **settings}})
        made.ask(f"/{name}/_doc/1", "PUT", {"text": "kept"})
    made.until_green()
    made.ask("/closed/_close", "POST")
    return made


def replicas(cluster: CalledCluster) -> dict[str, Any]:
    """The settings of all indices about their replicas."""
    found = json.loads(cluster.ask("/_settings?flat_settings=true&expand_wildcards=all"))
    wanted = ("index.number_of_replicas", "index.auto_expand_replicas")
    return {name: {each: index["settings"].get(each) for each in wanted} for name, index in found.items()}


def numbers(cluster: CalledCluster) -> dict[str, str]:
    """The number of replicas of each index."""
    return {name: own["index.number_of_replicas"] for name, own in replicas(cluster).items()}


def is_deletion(method: str, path: str) -> bool:
    """Whether a request takes a member down."""
    return method == "DELETE" and "/pods/" in path and "pull" not in path


def given(cluster: CalledCluster, **more: Any) -> dict[str, Any]:
    return {**cluster.variables(TO), **RAISE, **more}


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file of tasks of the user that fail."""
    file = tmp_path_factory.mktemp("tasks") / "fails.yml"
    file.write_text("---\n- name: Fail\n  ansible.builtin.fail:\n    msg: It fails.\n", encoding="utf-8")
    return str(file)


def undo(cluster: CalledCluster) -> str:
    """The undo that the cluster carries; empty if there is none."""
    found = json.loads(cluster.ask("/_cluster/settings?flat_settings=true"))["persistent"]
    return str(found.get(UNDO, ""))


def test_a_plan_that_single_copies_refuse_passes_with_it_and_all_is_as_before(
    here: World, cluster: CalledCluster
) -> None:
    before = replicas(cluster)
    refused = here.play(PLAN, cluster.variables(TO))
    assert "The only configured copy of" in refused.message
    planned = here.play(PLAN, given(cluster))
    assert planned.code == 0, planned.output
    assert "a replica is made of 4 indices (5 shards, 1 kB): .ds-logs-000001, closed, never, orders" in planned.output
    assert "changes and puts back: " in planned.output
    assert "a replica of 4 indices (1 kB)" in planned.output
    assert (replicas(cluster), undo(cluster)) == (before, "")
    seen: list[dict[str, str]] = []
    after = here.calling.after

    def watch(request: Request) -> None:
        after(request)
        if is_deletion(request.method, request.path):
            seen.append(numbers(cluster))

    consent = here.confirmed(given(cluster))
    here.calling.after = watch
    done = here.play(PLAYBOOK, consent)
    here.calling.after = after
    assert done.code == 0, done.output
    cluster.is_upgraded(TO)
    assert len(seen) == 3
    assert {number for each in seen for number in each.values()} == {"1"}
    assert (replicas(cluster), undo(cluster)) == (before, "")
    assert cluster.ask("/_cluster/settings") == NOTHING
    assert "Indices with a replica for the time of the upgrade" in done.output


def acts_of(here: World, cluster: CalledCluster) -> tuple[list[int], int]:
    """The numbers of the acts of a run that change replicas, or what the cluster carries about them; and of the first
    pod that goes."""
    consent, start = here.confirmed(given(cluster)), len(here.acts())
    done = here.play(PLAYBOOK, consent)
    assert done.code == 0, done.output
    acts = here.acts()[start:]
    of_indices = [
        number
        for number, (method, path) in enumerate(acts, 1)
        if method == "PUT" and path.endswith("/_settings") and not path.startswith("/_cluster")
    ]
    first = next(number for number, act in enumerate(acts, 1) if is_deletion(*act))
    return sorted({each + more for each in of_indices for more in (-1, 0, 1)}), first


@pytest.fixture(scope="module")
def numbered(here: World) -> tuple[list[int], int]:
    """The acts of a run about replicas, counted once."""
    return acts_of(here, with_indices(here.cluster(FROM)))


@pytest.mark.parametrize("which", one_in(3, range(8)))
@pytest.mark.parametrize("way", [PLAYBOOK, SETTLE])
def test_killed_behind_each_act_about_replicas_it_is_put_back_by_the_next_run_and_by_settle(
    here: World, numbered: tuple[list[int], int], which: int, way: str
) -> None:
    numbers_of_acts, _first = numbered
    assert len(numbers_of_acts) == 8
    cluster = with_indices(here.cluster(FROM))
    before, consent = replicas(cluster), here.confirmed(given(cluster))
    here.killed_behind(numbers_of_acts[which], consent)
    # The undo comes first, and goes last: there never is a replica which nothing names.
    assert undo(cluster) or replicas(cluster) == before
    done = here.play(way, consent if way == PLAYBOOK else cluster.variables(TO))
    assert done.code == 0, done.output
    assert (replicas(cluster), undo(cluster)) == (before, "")
    if way == PLAYBOOK:
        cluster.is_upgraded(TO)


@pytest.mark.parametrize("more", [1, 12, 25])
def test_killed_during_the_batches_it_goes_on_with_the_replicas(
    here: World, numbered: tuple[list[int], int], more: int
) -> None:
    cluster = with_indices(here.cluster(FROM))
    before, consent = replicas(cluster), here.confirmed(given(cluster))
    here.killed_behind(numbered[1] + more, consent)
    assert set(numbers(cluster).values()) == {"1"}
    start = len(here.acts())
    done = here.play(PLAYBOOK, consent)
    assert done.code == 0, done.output
    cluster.is_upgraded(TO)
    changed = [path for _method, path in here.acts()[start:] if path.endswith("/_settings") and "_cluster" not in path]
    assert len(changed) == 2, "they are not made again, and put back once"
    assert (replicas(cluster), undo(cluster)) == (before, "")


def test_in_passes_they_stay_until_the_upgrade_is_completed(here: World, cluster: CalledCluster) -> None:
    before, consent = replicas(cluster), here.confirmed(given(cluster, upgrade_wait=False))
    said = ""
    for _pass in range(12):
        done = here.play(PLAYBOOK, consent)
        assert done.code == 0, done.output
        if undo(cluster):
            assert set(numbers(cluster).values()) == {"1"}
            said += done.output
        if set(cluster.versions().values()) == {TO} and not undo(cluster):
            break
        here.later(30)
    cluster.is_upgraded(TO)
    assert "Until the upgrade is completed, aborted or settled, these indices keep the replica" in said
    assert (replicas(cluster), undo(cluster)) == (before, "")


@pytest.mark.parametrize("way", [SETTLE, ABORT, PLAYBOOK])
def test_a_run_that_fails_keeps_them_for_the_next_one_and_settle_and_abort_put_them_back(
    here: World, cluster: CalledCluster, failing: str, way: str
) -> None:
    before, consent = replicas(cluster), here.confirmed(given(cluster))
    steps = [{"name": "fails", "after_step": "replicas", "tasks": failing}]
    failed = here.play(PLAYBOOK, {**consent, "upgrade_steps": steps})
    assert failed.code != 0
    assert (
        "these indices keep the replica that it has given them: .ds-logs-000001, closed, never, orders" in failed.output
    )
    assert set(numbers(cluster).values()) == {"1"}
    done = here.play(way, consent if way == PLAYBOOK else cluster.variables(TO))
    assert done.code == 0, done.output
    assert (replicas(cluster), undo(cluster)) == (before, "")


def test_a_number_that_a_person_or_index_management_sets_during_the_run_stays(
    here: World, cluster: CalledCluster
) -> None:
    before, consent = replicas(cluster), here.confirmed(given(cluster))
    after, changed = here.calling.after, list[str]()

    def edit(request: Request) -> None:
        after(request)
        if is_deletion(request.method, request.path) and not changed:
            changed.append("orders")
            cluster.ask("/orders/_settings", "PUT", {"index": {"number_of_replicas": 2}})
            cluster.ask("/never/_settings", "PUT", {"index": {"auto_expand_replicas": "0-all"}})
            cluster.ask("/.ds-logs-000001", "DELETE")
            cluster.ask("/.ds-logs-000001", "PUT", {"settings": {"number_of_replicas": 1}})

    here.calling.after = edit
    done = here.play(PLAYBOOK, consent)
    here.calling.after = after
    assert done.code == 0, done.output
    assert changed
    own = replicas(cluster)
    assert own["orders"]["index.number_of_replicas"] == "2"
    assert own["never"] == {"index.number_of_replicas": "2", "index.auto_expand_replicas": "0-all"}
    assert own[".ds-logs-000001"]["index.number_of_replicas"] == "1", "it is another index of that name"
    assert own["closed"] == before["closed"]
    assert (
        "set index.number_of_replicas of index orders to '1', and something else has changed it to '2'" in done.output
    )
    assert undo(cluster) == ""


def test_an_index_made_without_one_during_the_run_gets_one_before_the_next_batch(
    here: World, cluster: CalledCluster
) -> None:
    consent, after, made = here.confirmed(given(cluster)), here.calling.after, list[str]()
    servers = here.sandbox.members.clusters_in(cluster.namespace)[0]

    def make(request: Request) -> None:
        after(request)
        if is_deletion(request.method, request.path) and not made:
            made.append("late")
            settings = {"number_of_shards": 3, "number_of_replicas": 0}
            cluster.ask("/late", "PUT", {"settings": settings})

    here.calling.after = make
    start = len(here.acts())
    done = here.play(PLAYBOOK, consent)
    here.calling.after = after
    assert done.code == 0, done.output
    cluster.is_upgraded(TO)
    assert servers.indices.find("late")
    assert [path for method, path in here.acts()[start:] if (method, path) == ("PUT", "/late/_settings")]
    assert (numbers(cluster)["late"], undo(cluster)) == ("0", "")


def test_all_that_cannot_get_one_is_said_at_once_and_consent_covers_it(here: World, cluster: CalledCluster) -> None:
    members = {"number_of_replicas": 0, "routing.allocation.include._name": f"{cluster.name}-members-0"}
    cluster.ask("/pinned", "PUT", {"settings": members})
    cluster.ask("/frozen", "PUT", {"settings": {"number_of_replicas": 0, "blocks.read_only": True}})
    cluster.ask("/closely", "PUT", {"settings": {"number_of_replicas": 0, "routing.allocation.enable": "primaries"}})
    cluster.until_green()
    before = replicas(cluster)
    refused = here.play(PLAN, given(cluster))
    assert refused.code != 0
    for said in (
        "pinned cannot get a replica for the time of the upgrade: no other member takes it (filter on 2).",
        "frozen cannot get a replica for the time of the upgrade: a block keeps its settings as they are",
        "closely cannot get a replica for the time of the upgrade: its own setting index.routing.allocation.enable is",
    ):
        assert said in refused.message
    assert "The only configured copy" not in refused.message
    consent = here.confirmed(given(cluster, upgrade_allow_single_copy=["pinned", "frozen", "closely"]))
    done = here.play(PLAYBOOK, consent)
    assert done.code == 0, done.output
    cluster.is_upgraded(TO)
    assert (replicas(cluster), undo(cluster)) == (before, "")


def test_replicas_that_do_not_start_are_put_back_and_stop_the_run(here: World, cluster: CalledCluster) -> None:
    cluster.ask("/_cluster/settings", "PUT", {"persistent": {THRESHOLD: True}})
    before, consent, pods = replicas(cluster), here.confirmed(given(cluster)), cluster.fingerprint().pods
    after, servers = here.calling.after, here.sandbox.members.clusters_in(cluster.namespace)[0]

    def fill(request: Request) -> None:
        after(request)
        if request.path == "/_cluster/settings" and request.method == "PUT":
            for member in servers.members.values():
                member.disk.available, member.disk.known = 1, (1, TOTAL)

    here.calling.after = fill
    done = here.play(PLAYBOOK, {**consent, "upgrade_steps": [{"name": "replicas", "timeout": 60}]})
    here.calling.after = after
    assert done.code != 0
    assert "; no place for .ds-logs-000001[0], closed[0], never[0], orders[0], orders[1]: " in done.output
    assert "disk_threshold on 3" in done.output
    assert (replicas(cluster), undo(cluster), cluster.fingerprint().pods) == (before, "", pods)


def test_replicas_that_the_server_refuses_leave_nothing_and_are_not_said_to_be_there(
    here: World, cluster: CalledCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, consent = replicas(cluster), here.confirmed(given(cluster))
    ask, reason = here.calling.ask, "no permissions for [indices:admin/settings/update]"

    def asked(host: str, port: int, request: Request) -> Answer:
        if request.method == "PUT" and request.path.endswith("/_settings"):
            return Answer(403, {"error": {"type": "security_exception", "reason": reason}, "status": 403})
        return ask(host, port, request)

    with monkeypatch.context() as refusing:
        refusing.setattr(here.calling, "ask", asked)
        done = here.play(PLAYBOOK, consent)
    assert done.code != 0
    assert reason in done.output
    assert "keep the replica" not in done.output
    assert (replicas(cluster), undo(cluster)) == (before, "")


def test_in_check_mode_nothing_is_changed(here: World, cluster: CalledCluster) -> None:
    before, start = replicas(cluster), len(here.acts())
    done = here.play(PLAYBOOK, given(cluster), CHECK)
    assert done.code == 0, done.output
    assert not [each for each in here.acts()[start:] if each[0] == "PUT"]
    assert replicas(cluster) == before


def test_a_restart_of_each_process_raises_them_too(here: World, cluster: CalledCluster) -> None:
    here.sandbox.apply(bound(RESTART_ROLE, cluster.namespace))
    before = replicas(cluster)
    own = {name: value for name, value in given(cluster).items() if name != "target_version"}
    planned = here.play(RESTART, own, CHECK)
    assert planned.code == 0, planned.output
    start = len(here.acts())
    done = here.play(RESTART, {**own, "upgrade_confirm": digest_in(planned)})
    assert done.code == 0, done.output
    assert [path for method, path in here.acts()[start:] if method == "PUT" and path.startswith("/.ds-logs")]
    assert (replicas(cluster), undo(cluster)) == (before, "")


def test_members_on_hosts_have_them_too_and_a_killed_run_is_settled(here: World) -> None:
    with cluster_on_hosts(here, FROM, (POOL,)) as cluster:
        with_indices(cluster)
        before = replicas(cluster)
        variables = {**cluster.variables(TO), **RAISE}
        consent = {**variables, "upgrade_confirm": _agreed(here, cluster, variables)}
        with here.killing_behind(20), pytest.raises(Killed):
            here.play(PLAYBOOK_OF_HOSTS, consent, *cluster.arguments)
        assert undo(cluster)
        done = here.play(PLAYBOOK_OF_HOSTS, consent, *cluster.arguments)
        assert done.code == 0, done.output
        cluster.is_upgraded(TO)
        assert (replicas(cluster), undo(cluster)) == (before, "")


def _agreed(here: World, cluster: ClusterOnHosts, variables: dict[str, Any]) -> str:
    planned = here.play(PLAYBOOK_OF_HOSTS, variables, *cluster.arguments, CHECK)
    assert planned.code == 0, planned.output
    return digest_in(planned)


def test_a_single_copy_has_its_second_before_a_member_of_the_new_version_can_take_the_first(here: World) -> None:
    # Found by the random upgrade 631: on the added member, whose version is newer, it could get none any more.
    four = FourMembers(here)
    four.cluster.ask("/orders", "PUT", {"settings": {"number_of_shards": 12, "number_of_replicas": 0}})
    four.cluster.until_green()
    added = {"upgrade_extra_member": DATA, "upgrade_capacity_policy": "continue"}
    done = here.play(PLAYBOOK, here.confirmed(given(four.cluster, **added)))
    assert done.code == 0, done.output
    four.cluster.is_upgraded(TO)
    four.has_no_trace()
    assert numbers(four.cluster)["orders"] == "0"
