"""Upgrades over several versions in whole runs: one plan, one consent, hop by hop."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.lab.opensearch.layouts import ELASTICSEARCH
from tests.runs import chosen, executor
from tests.runs.driver import BegunHere
from tests.runs.extra_members import DATA, EXTRA, MARK, FourMembers
from tests.runs.sampled import one_in
from tests.runs.world import CalledCluster, World, world
from tests.sandbox import members
from tests.sandbox.opensearch.versions import Version
from tests.sandbox.web import Request
from tests.scenarios.playbook import PLAN, PLAYBOOK, Played, digest_in, without_images

FROM, BETWEEN, TO = "2.11.1", "2.19.6", "3.8.0"
STATUS, ABORT, RESUME = (f"stateful.upgrade.{name}" for name in ("status", "abort", "resume"))
KILLS = (1, 8, 17, 30, 47, 62, 66, 74, 85, 100, 112)
"""The acts of a run after which it is killed: in each hop, and between the two."""
MEMBERS = 3


@pytest.fixture(scope="module")
def here() -> Iterator[World]:
    """One world for all tests of this module, each with a cluster of its own."""
    with world() as made:
        yield made


def given(cluster: CalledCluster, **more: Any) -> dict[str, Any]:
    return {**cluster.variables(TO), "upgrade_hops": BETWEEN, **more}


def deletions(here: World, cluster: CalledCluster) -> Counter[str]:
    """The times that the pod of each member was deleted by a controller."""
    pods = f"/api/v1/namespaces/{cluster.namespace}/pods/{cluster.name}-members-"
    paths = [path for method, path in here.acts() if method == "DELETE" and path.startswith(pods)]
    return Counter(path.rpartition("/")[2] for path in paths if "image-pull" not in path)


def statistics(played: Played) -> dict[str, Any]:
    """The custom statistics of a run."""
    found = re.search(r"RUN: (\{.*\})", played.output)
    assert found, played.output
    stated: dict[str, Any] = json.loads(found[1])
    return stated


def is_done(here: World, cluster: CalledCluster, settings: Any) -> None:
    """Fails unless each member went through each hop once, and everything else is as it was."""
    cluster.is_upgraded(TO)
    assert cluster.fingerprint().settings == settings
    assert set(deletions(here, cluster).values()) == {2}
    assert not cluster.excluded()


def test_one_run_makes_all_hops_with_one_consent(here: World) -> None:
    cluster = here.cluster(FROM)
    before = cluster.fingerprint()
    planned = here.play(PLAN, without_images(given(cluster)))
    assert planned.code == 0, planned.output
    assert "hop 1 of 2: to 2.19.6: the batches below" in planned.output
    assert "hop 2 of 2: to 3.8.0: 3 batches with all members" in planned.output
    done = here.play(PLAYBOOK, {**given(cluster), "upgrade_confirm": digest_in(planned)})
    assert done.code == 0, done.output
    is_done(here, cluster, before.settings)
    assert "Hop 1 of 2 is done: every member runs 2.19.6. The next one leads to 3.8.0." in done.output
    assert "3 of 6 batches done" in done.output
    assert statistics(done)["upgrade_state"] == "done"
    known = {name: value for name, value in cluster.variables(TO).items() if name != "target_version"}
    status = here.play(STATUS, known).output
    assert status.count("to 2.19.6") == MEMBERS, status
    again = here.play(PLAYBOOK, given(cluster))
    assert "Nothing to do: every member runs 3.8.0." in again.output
    assert not any(again.changed.values()), again.output


@pytest.mark.parametrize("number", one_in(3, KILLS))
def test_killed_behind_an_act_and_run_again(here: World, number: int) -> None:
    cluster = here.cluster(FROM)
    before = cluster.fingerprint()
    consent = here.confirmed(given(cluster))
    assert here.killed_behind(number, consent) is None
    last = here.acts()[-1]
    done = here.play(PLAYBOOK, consent)
    assert done.code == 0, f"killed behind {last}\n{done.output}"
    is_done(here, cluster, before.settings)


@pytest.mark.parametrize("single_passes", [False, True])
def test_a_request_names_the_versions_between_and_is_completed_with_the_last_hop(
    here: World, tmp_path: Path, *, single_passes: bool
) -> None:
    cluster, request = here.cluster(FROM), tmp_path / "request.yml"
    before = cluster.fingerprint()
    asked = {"type": "opensearch", "target_version": TO, "upgrade_hops": BETWEEN}
    request.write_text(yaml.safe_dump(asked), encoding="utf-8")
    run = {name: value for name, value in cluster.variables(TO).items() if name not in asked}
    run |= {"upgrade_request": str(request), "upgrade_wait": not single_passes}
    run, states = here.confirmed(run), list[str]()
    for _pass in range(60):
        played = here.play(PLAYBOOK, run)
        assert played.code == 0, played.output
        states.append(json.loads((tmp_path / "request.yml.state.json").read_text(encoding="utf-8"))["state"])
        if states[-1] == "completed":
            break
        assert single_passes, states
        here.later(20)
    assert states[-1] == "completed"
    is_done(here, cluster, before.settings)
    here.later(20)
    again = here.play(PLAYBOOK, run)
    assert "Nothing to do: every member runs 3.8.0." in again.output
    assert set(deletions(here, cluster).values()) == {2}


def make_old(here: World, cluster: CalledCluster, name: str, version: str) -> None:
    """Have an index that an older version has made."""
    cluster.ask(f"/{name}", "PUT", {"settings": {"number_of_shards": 1, "number_of_replicas": 1}})
    cluster.until_green()
    uid = next(iter(cluster.fingerprint().pods.values()))
    servers = here.sandbox.members.cluster_of({"metadata": {"uid": uid}})
    assert servers is not None
    servers.state.indices[name].created = Version.parse(version)


def test_an_index_that_a_later_hop_cannot_open_blocks_the_first_one(here: World) -> None:
    cluster = here.cluster(FROM)
    make_old(here, cluster, "ancient", "1.3.20")
    planned = here.play(PLAN, given(cluster))
    assert planned.code != 0
    assert "Hop to 3.8.0: Indices were created in 1.3.20, which 3.8.0 cannot open: ancient." in planned.output
    assert statistics(planned)["upgrade_reasons"] == ["index_too_old"]
    assert not deletions(here, cluster)


def test_a_way_that_the_servers_do_not_go_is_refused_as_a_whole(here: World) -> None:
    cluster = here.cluster(FROM)
    planned = here.play(PLAN, given(cluster, upgrade_hops="2.17.0"))
    assert "Each member after the hop to 2.17.0 runs 2.17.0, and 3.8.0 only talks to members from 2.19.0 on" in (
        planned.output
    )
    planned = here.play(PLAN, given(cluster, upgrade_hops=["3.9.0", "2.19.6"]))
    assert {"hops_out_of_order"} <= {*statistics(planned)["upgrade_reasons"]}
    planned = here.play(PLAN, given(cluster, upgrade_members=[f"{cluster.name}-members-0"]))
    assert "hop_leaves_members" in statistics(planned)["upgrade_reasons"]
    planned = here.play(PLAN, given(cluster, upgrade_image="registry.test/opensearch:3.8.0"))
    assert statistics(planned)["upgrade_reasons"] == ["hop_without_image"]
    assert not deletions(here, cluster)


def test_a_run_that_is_aborted_in_its_second_hop_goes_on_there(here: World) -> None:
    cluster = here.cluster(FROM)
    before = cluster.fingerprint()
    consent = here.confirmed(given(cluster))
    known = {name: value for name, value in cluster.variables(TO).items() if name != "target_version"}
    aborts = list[BegunHere]()

    def in_second_hop(_request: Request) -> None:
        if not aborts and sum(deletions(here, cluster).values()) == MEMBERS + 1:
            aborts.append(BegunHere(executor.a_run(), lambda _shown: chosen.play(ABORT, known)))

    here.calling.after = in_second_hop
    try:
        stopped = here.play(PLAYBOOK, consent)
    finally:
        here.calling.after = lambda _request: None
    assert stopped.code != 0
    assert statistics(stopped)["upgrade_reasons"] == ["stopped_by_request"]
    assert aborts[0].wait() == 0, aborts[0].output
    assert cluster.fingerprint().settings == before.settings
    waits = here.play(PLAYBOOK, consent)
    assert statistics(waits)["upgrade_reasons"] == ["aborted_on_request"]
    assert here.play(RESUME, known).code == 0
    done = here.play(PLAYBOOK, consent)
    assert done.code == 0, done.output
    is_done(here, cluster, before.settings)


def test_single_passes_go_through_all_hops(here: World) -> None:
    cluster = here.cluster(FROM)
    before = cluster.fingerprint()
    consent = here.confirmed(given(cluster, upgrade_wait=False))
    seen = list[Any]()
    for _pass in range(60):
        played = here.play(PLAYBOOK, consent)
        assert played.code == 0, played.output
        seen.append((statistics(played)["upgrade_state"], statistics(played)["upgrade_reasons"]))
        if seen[-1][0] == "done":
            break
        here.later(20)
    assert seen[-1] == ("done", [])
    is_done(here, cluster, before.settings)


def test_what_has_to_be_done_between_two_hops_is_in_the_plan_and_stops_the_second_one_until_it_is(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(members.IMAGES, "elasticsearch", (*members.IMAGES["elasticsearch"], "9.1.0"))
    cluster = here.cluster("7.17.29", product=ELASTICSEARCH)
    cluster.ask("/old", "PUT", {"settings": {"number_of_shards": 1, "number_of_replicas": 1}})
    cluster.until_green()
    wanted = {**cluster.variables("9.1.0"), "upgrade_hops": "8.19.4"}
    planned = here.play(PLAN, without_images(wanted))
    assert planned.code == 0, planned.output
    assert "To be done before the hop to 9.1.0, which is refused until then: Indices were created in" in planned.output
    consent = {**wanted, "upgrade_confirm": digest_in(planned)}
    stopped = here.play(PLAYBOOK, consent)
    assert stopped.code != 0
    assert statistics(stopped)["upgrade_reasons"] == ["index_too_old"]
    cluster.is_upgraded("8.19.4")
    cluster.ask("/old", "DELETE")
    done = here.play(PLAYBOOK, consent)
    assert done.code == 0, done.output
    cluster.is_upgraded("9.1.0")


def test_a_member_more_is_refused_with_all_else_that_stands_in_the_way(here: World) -> None:
    four = FourMembers(here, FROM)
    before = four.cluster.fingerprint()
    both = {**four.cluster.variables(TO), "upgrade_hops": "2.17.0", "upgrade_extra_member": DATA}
    planned = here.play(PLAN, both)
    assert planned.code != 0
    assert f"Pool {DATA} is to have one member more for the time of the upgrade, and the upgrade has several hops." in (
        planned.message
    )
    assert "Each member after the hop to 2.17.0 runs 2.17.0, and 3.8.0 only talks to members from" in planned.message
    assert "extra_member_with_hops" in statistics(planned)["upgrade_reasons"]
    assert four.cluster.fingerprint() == before


@pytest.mark.parametrize("number", one_in(3, (21, 26, 35, 49, 95)))
def test_a_member_more_of_a_killed_upgrade_is_gone_after_one_over_several_versions(here: World, number: int) -> None:
    four = FourMembers(here, FROM)
    before = four.cluster.fingerprint()
    alone = here.confirmed({**four.cluster.variables(BETWEEN), "upgrade_extra_member": DATA})
    assert here.killed_behind(number, alone) is None
    last = here.acts()[-1]
    assert MARK in four.pool()["metadata"]["annotations"], f"killed behind {last}"
    chain = here.confirmed({**four.cluster.variables(TO), "upgrade_hops": BETWEEN, "upgrade_supersede": True})
    done = here.play(PLAYBOOK, chain)
    assert done.code == 0, f"killed behind {last}\n{done.output}"
    four.cluster.is_upgraded(TO)
    assert four.cluster.fingerprint().settings == before.settings
    assert EXTRA not in four.cluster.fingerprint().pods
    four.has_no_trace()
