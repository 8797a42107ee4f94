"""Larger volume claims in whole runs: raised before the first batch, followed, and the sets made again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.runs.on_hosts import CHECK
from tests.runs.sampled import one_in
from tests.runs.world import CalledCluster, World, world
from tests.sandbox.kubernetes.kinds import CLAIMS, CONFIG_MAPS, PODS, STATEFUL_SETS
from tests.sandbox.kubernetes.objects import Json, Kind, controller_of
from tests.sandbox.web import CutOff, Request
from tests.scenarios.cluster import OPTIONAL_ROLE, bound
from tests.scenarios.playbook import PLAN, PLAYBOOK, digest_in, without_images

FROM, TO = "2.19.6", "3.8.0"
SETTLE, ABORT = "stateful.upgrade.settle", "stateful.upgrade.abort"
SMALL, LARGE = "1Gi", "2Gi"


@pytest.fixture(scope="module")
def here() -> Iterator[World]:
    """One world for all tests of this module, each with a cluster of its own."""
    with world() as made:
        made.storage_class()
        yield made


def is_deletion(method: str, path: str) -> bool:
    """Whether a request takes a member down."""
    return method == "DELETE" and "/pods/" in path and "pull" not in path


class Grown:
    """A cluster with claims that are to grow."""

    def __init__(self, here: World) -> None:
        self.here = here
        self.cluster: CalledCluster = here.cluster(FROM)
        self.namespace, self.pool = self.cluster.namespace, f"{self.cluster.name}-members"
        here.sandbox.apply(bound(OPTIONAL_ROLE, self.namespace))
        self.members = [f"{self.pool}-{number}" for number in range(3)]
        self.before = self.set_["metadata"]["uid"]
        self.strategy = self.set_["spec"]["updateStrategy"]

    def variables(self, size: str = LARGE, **more: Any) -> dict[str, Any]:
        """The variables of an upgrade with larger claims."""
        wanted = [{"pool": self.pool, "claim": "data", "size": size}]
        return self.cluster.variables(TO, upgrade_volumes=wanted, **more)

    @property
    def store(self) -> Any:
        """All objects of Kubernetes."""
        return self.here.sandbox.api.store

    @property
    def set_(self) -> Json:
        """The StatefulSet."""
        return dict(self.store.get(STATEFUL_SETS, self.namespace, self.pool))

    def claims(self) -> dict[str, tuple[str, str]]:
        """What each claim asks for, and what it has."""
        return {
            each["metadata"]["name"]: (
                each["spec"]["resources"]["requests"]["storage"],
                each["status"]["capacity"]["storage"],
            )
            for each in self.store.list(CLAIMS, self.namespace)
        }

    def pods(self) -> dict[str, str]:
        """The UID of each pod."""
        return {each["metadata"]["name"]: each["metadata"]["uid"] for each in self.store.list(PODS, self.namespace)}

    def kept(self) -> list[str]:
        """The ConfigMaps with manifests."""
        found = [each["metadata"]["name"] for each in self.store.list(CONFIG_MAPS, self.namespace)]
        return [name for name in found if "-set-" in name]

    def is_whole(self, size: str = LARGE) -> None:
        """Fails unless the set is there with its template and its pods, and nothing is left of the run."""
        found = self.set_
        assert found["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"] == size
        assert found["spec"]["updateStrategy"] == self.strategy
        owners = {(controller_of(each) or {})["uid"] for each in self.store.list(PODS, self.namespace)}
        assert owners == {found["metadata"]["uid"]}
        assert self.kept() == []

    def is_done(self, size: str = LARGE) -> None:
        """Fails unless the upgrade is complete and each claim has grown."""
        self.cluster.is_upgraded(TO)
        assert set(self.claims().values()) == {(size, size)}
        self.is_whole(size)


@pytest.fixture
def grown(here: World) -> Grown:
    """A cluster of three members with a claim each."""
    return Grown(here)


def test_claims_grow_before_the_first_batch_and_with_the_restarts(here: World, grown: Grown) -> None:
    before = grown.pods()
    planned = here.play(PLAN, grown.variables())
    assert planned.code == 0, planned.output
    assert f"stays: image of 1 pool, {LARGE} for 3 volume claims data of pool {grown.pool}" in planned.output
    assert set(grown.claims().values()) == {(SMALL, SMALL)}
    given = here.confirmed(grown.variables())
    seen: list[tuple[dict[str, str], set[tuple[str, str]]]] = []
    after = here.calling.after

    def watch(request: Request) -> None:
        after(request)
        if is_deletion(request.method, request.path) and not seen:
            seen.append((grown.pods(), set(grown.claims().values())))

    here.calling.after = watch
    done = here.play(PLAYBOOK, given)
    here.calling.after = after
    assert done.code == 0, done.output
    assert grown.set_["metadata"]["uid"] != grown.before
    first = {name: uid for name, uid in seen[0][0].items() if name in before}
    assert sum(first[name] == before[name] for name in first) >= 2, "the set was made again without its pods"
    assert seen[0][1] == {(LARGE, SMALL)}
    assert "Its file system grows when its pod restarts" in done.output
    assert "Kubernetes makes no volume claim smaller" in done.output
    grown.is_done()
    start = len(here.acts())
    again = here.play(PLAYBOOK, given)
    assert again.code == 0, again.output
    assert not [each for each in here.acts()[start:] if "persistentvolumeclaims" in each[1]]


def last(acts: list[tuple[str, str]], method: str, part: str, count: int = 1) -> list[int]:
    """The numbers of the last acts with this method and this part of a path; those before were dry runs, or others."""
    return [number for number, act in enumerate(acts, 1) if act[0] == method and part in act[1]][-count:]


@pytest.fixture(scope="module")
def numbered(here: World) -> list[int]:
    """The numbers of the acts of a run about claims, the set, and its manifest, counted once."""
    grown = Grown(here)
    given, start = here.confirmed(grown.variables()), len(here.acts())
    done = here.play(PLAYBOOK, given)
    assert done.code == 0, done.output
    acts = here.acts()[start:]
    (deleted,) = last(acts, "DELETE", "/statefulsets/")
    (made,) = last(acts, "POST", "/statefulsets")
    (forgotten,) = last(acts, "DELETE", "/configmaps/stateful-upgrade-set-")
    until = acts[:forgotten]
    kept, strategy = last(acts[:deleted], "POST", "/configmaps"), last(until, "PATCH", "/statefulsets/", 2)
    return [*last(until, "PATCH", "/persistentvolumeclaims/", 3), *kept, deleted, made, *strategy, forgotten]


@pytest.mark.parametrize("which", one_in(3, range(9)))
@pytest.mark.parametrize("way", [PLAYBOOK, SETTLE])
def test_killed_behind_each_act_the_set_is_made_again_by_the_next_run_and_by_settle(
    here: World, numbered: list[int], which: int, way: str
) -> None:
    assert len(numbered) == 9
    grown = Grown(here)
    given, pods = here.confirmed(grown.variables()), grown.pods()
    here.killed_behind(numbered[which], given)
    act = here.acts()[-1]
    done = here.play(way, given if way == PLAYBOOK else grown.cluster.variables(TO))
    assert done.code == 0, f"killed behind {act}\n{done.output}"
    if way == PLAYBOOK:
        grown.is_done()
    else:
        assert grown.pods() == pods, act
        grown.is_whole(grown.set_["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"])


@pytest.mark.parametrize("part", ["/statefulsets/", "/configmaps/stateful-upgrade-set-"])
def test_a_deletion_whose_answer_is_lost_is_believed_once_it_is_seen(here: World, grown: Grown, part: str) -> None:
    given, before, lost = here.confirmed(grown.variables()), here.calling.after, list[str]()

    def lose(request: Request) -> None:
        before(request)
        if request.method == "DELETE" and part in request.path and not lost:
            lost.append(request.path)
            # The garbage collector is faster than the next look.
            here.later(2)
            raise CutOff(made=True)

    here.calling.after = lose
    done = here.play(PLAYBOOK, given)
    here.calling.after = before
    assert lost
    assert done.code == 0, done.output
    grown.is_done()


def test_a_set_whose_manifest_something_removes_at_once_is_not_deleted(here: World, grown: Grown) -> None:
    given, before = here.confirmed(grown.variables()), here.calling.after

    def remove(request: Request) -> None:
        before(request)
        if request.method == "POST" and request.path.endswith("/configmaps"):
            for name in grown.kept():
                grown.store.remove(CONFIG_MAPS, grown.store.get(CONFIG_MAPS, grown.namespace, name))

    here.calling.after = remove
    done = here.play(PLAYBOOK, given)
    here.calling.after = before
    assert done.code != 0
    assert "was kept in a ConfigMap and is not found there, so the set stays" in done.output
    assert grown.set_["metadata"]["uid"] == grown.before


def test_a_set_that_is_deleted_is_in_the_next_plan_with_its_pods_and_abort_makes_it_again(
    here: World, grown: Grown, numbered: list[int]
) -> None:
    given, pods = here.confirmed(grown.variables()), grown.pods()
    here.killed_behind(numbered[4], given)
    here.later(5)
    assert grown.store.get(STATEFUL_SETS, grown.namespace, grown.pool) is None
    assert grown.kept() == [f"stateful-upgrade-set-{grown.pool}"]
    labelled = {"upgrade_label_selector": f"app={grown.cluster.name}"}
    for more in ({}, labelled):
        planned = here.play(PLAN, without_images({**given, **more}))
        assert planned.code == 0, planned.output
        assert digest_in(planned) == given["upgrade_confirm"]
    done = here.play(ABORT, grown.cluster.variables(TO))
    assert done.code == 0, done.output
    assert grown.pods() == pods
    grown.is_whole()


def test_a_manifest_that_is_not_of_the_pods_is_not_believed(here: World, grown: Grown, numbered: list[int]) -> None:
    given = here.confirmed(grown.variables())
    here.killed_behind(numbered[4], given)
    here.later(5)
    (name,) = grown.kept()
    kept = grown.store.get(CONFIG_MAPS, grown.namespace, name)
    manifest = json.loads(kept["data"]["manifest.json"])
    manifest["spec"]["template"]["spec"]["serviceAccountName"] = "owner-of-all"
    kept["data"]["manifest.json"] = json.dumps(manifest)
    here.sandbox.api.resources.replace(CONFIG_MAPS, grown.namespace, name, kept)
    done = here.play(SETTLE, grown.cluster.variables(TO))
    assert done.code != 0
    assert "no pod of it is left that shows that the manifest in ConfigMap" in done.output
    assert grown.store.get(STATEFUL_SETS, grown.namespace, grown.pool) is None


def test_a_set_of_another_cluster_of_the_namespace_is_left_to_its_own_run(
    here: World, grown: Grown, numbered: list[int]
) -> None:
    given = here.confirmed(grown.variables())
    here.killed_behind(numbered[4], given)
    here.later(5)
    (name,) = grown.kept()
    kept = grown.store.get(CONFIG_MAPS, grown.namespace, name)
    own = kept["data"]["undo.json"]
    undo = json.loads(own)
    undo["lock"]["name"] = "stateful-upgrade-0123456789"
    kept["data"]["undo.json"] = json.dumps(undo)
    here.sandbox.api.resources.replace(CONFIG_MAPS, grown.namespace, name, kept)
    done = here.play(SETTLE, grown.cluster.variables(TO))
    assert grown.store.get(STATEFUL_SETS, grown.namespace, grown.pool) is None
    assert "the lock stateful-upgrade-0123456789 of another cluster" in " ".join(done.output.split())
    kept = grown.store.get(CONFIG_MAPS, grown.namespace, name)
    kept["data"]["undo.json"] = own
    here.sandbox.api.resources.replace(CONFIG_MAPS, grown.namespace, name, kept)
    done = here.play(SETTLE, grown.cluster.variables(TO))
    assert done.code == 0, done.output
    assert grown.set_["metadata"]["uid"] != grown.before


def test_a_set_that_a_person_has_made_again_is_left_as_it_is(here: World, grown: Grown, numbered: list[int]) -> None:
    given, manifest = here.confirmed(grown.variables()), grown.set_
    here.killed_behind(numbered[4], given)
    here.later(5)
    metadata = {name: manifest["metadata"][name] for name in ("name", "namespace", "labels")}
    spec = {**manifest["spec"], "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}}
    here.sandbox.apply([{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec}])
    made = grown.set_
    done = here.play(SETTLE, grown.cluster.variables(TO))
    assert done.code == 0, done.output
    assert (grown.set_["metadata"]["uid"], grown.set_["spec"]) == (made["metadata"]["uid"], made["spec"])
    assert grown.kept() == []


def test_a_pass_waits_for_claims_and_the_next_one_goes_on(here: World, grown: Grown) -> None:
    given = here.confirmed(grown.variables(upgrade_wait=False))
    waited = False
    for _number in range(60):
        done = here.play(PLAYBOOK, given)
        assert done.code == 0, done.output
        waited = waited or "is growing to 2Gi" in done.output
        if '"upgrade_state": "done"' in done.output:
            break
        here.later(60)
    assert waited
    grown.is_done()


def test_a_volume_that_cannot_be_as_large_stops_the_run_with_the_words_of_its_driver(here: World, grown: Grown) -> None:
    pods, given = grown.pods(), here.confirmed(grown.variables())
    here.storage_class(parameters={"infeasible": "yes"})
    try:
        done = here.play(PLAYBOOK, given)
    finally:
        here.storage_class(parameters={})
    assert done.code != 0
    assert "cannot have 2Gi (ControllerResizeInfeasible): the disk cannot be as large" in done.output
    assert grown.pods() == pods
    assert (grown.set_["metadata"]["uid"], grown.kept()) == (grown.before, [])
    refused = here.play(PLAN, grown.variables())
    assert "lower the request of the claim by hand" in refused.message


def test_all_that_cannot_be_is_said_at_once_and_missing_rights_are_named(here: World, grown: Grown) -> None:
    here.storage_class(allowVolumeExpansion=False)
    try:
        refused = here.play(PLAN, grown.variables())
    finally:
        here.storage_class()
    assert refused.code != 0
    for number in range(3):
        assert f"does not let volume claim data-{grown.pool}-{number} grow from 1Gi to 2Gi" in refused.message
    assert "the storageclass that provisions the pvc must support resize" in refused.message
    smaller = here.play(PLAN, grown.variables("500Mi"))
    assert "asks for more than 500Mi already, and Kubernetes makes no claim smaller" in smaller.message
    bare = here.cluster(FROM)
    wanted = [{"pool": f"{bare.name}-members", "claim": "data", "size": LARGE}]
    denied = here.play(PLAN, bare.variables(TO, upgrade_volumes=wanted))
    assert "may not get/patch persistentvolumeclaims, create/delete statefulsets, delete configmaps" in denied.message


def test_check_mode_changes_nothing(here: World, grown: Grown) -> None:
    before = (grown.claims(), grown.set_["metadata"]["uid"], grown.pods())
    done = here.play(PLAYBOOK, grown.variables(), CHECK)
    assert done.code == 0, done.output
    assert (grown.claims(), grown.set_["metadata"]["uid"], grown.pods()) == before
    assert grown.kept() == []


def test_a_set_that_comes_back_on_another_revision_replaces_no_pod(here: World, grown: Grown) -> None:
    """A webhook that has come since, or a newer API server, may fill in other fields of the template."""
    pods, given, admission = grown.pods(), here.confirmed(grown.variables()), here.sandbox.api.resources.admission

    def filled(kind: Kind, before: Json | None, after: Json | None) -> None:
        if kind == STATEFUL_SETS and before is None and after is not None:
            after["spec"]["template"]["metadata"]["annotations"] = {"filled": "in"}

    admission.append(filled)
    try:
        done = here.play(PLAYBOOK, given)
        here.later(60)
    finally:
        admission.remove(filled)
    assert done.code != 0
    assert "It stays under OnDelete, so that no pod is replaced." in done.output
    assert grown.pods() == pods
    assert grown.set_["spec"]["updateStrategy"] == {"type": "OnDelete"}
    assert len(grown.kept()) == 1
