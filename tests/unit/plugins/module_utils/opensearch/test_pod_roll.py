"""The questions to OpenSearch about a batch: whether data would be lost for good, and whether its members are back."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes import client as kubernetes
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import batch_proof, pod_roll
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.pods import (
    judge_ephemeral,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.policy import Policy
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.version import Version
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes.objects import member as pod_of
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes.objects import pod_json, pool
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    cluster,
    coordination,
    copy,
    identity,
    info,
    state_answer,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.servers import Servers
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.pools.world import NAMES, World

OLD, NEW = Version(2, 19, 6), Version(3, 8, 0)


KEPT: dict[str, Any] = {
    "volumeClaimTemplates": [{"metadata": {"name": "data"}}],
    "template": {
        "spec": {
            "containers": [
                {
                    "name": "server",
                    "image": "opensearch:2.19.6",
                    "volumeMounts": [{"name": "data", "mountPath": "/usr/share/opensearch/data"}],
                }
            ]
        }
    },
}


@pytest.mark.parametrize(
    ("hot", "cold", "batch", "named"),
    [
        ({}, {}, ["hot-0"], []),
        ({}, {}, ["hot-1"], ["hot"]),
        ({}, {}, ["hot-1", "cold-0"], ["hot", "cold"]),
        (KEPT, {}, ["hot-1", "cold-0"], ["cold"]),
        # The only copy in a volume comes back with its pod, whatever else goes with it.
        (KEPT, {}, ["hot-1"], []),
        (KEPT, KEPT, ["hot-1", "cold-0"], []),
    ],
)
def test_what_a_pool_without_volumes_would_lose_is_asked_of_each_with_its_own_members(
    hot: dict[str, Any], cold: dict[str, Any], batch: list[str], named: list[str]
) -> None:
    copies = [copy("i", "hot-1", primary=True), copy("j", "cold-0", primary=True)]
    state = cluster(["hot-0", "hot-1", "cold-0"], copies, voting=coordination(["hot-0", "hot-1", "cold-0"]))
    pods = [pod_of(name) for name in batch]
    verdict = judge_ephemeral(state, [pool("hot", **hot), pool("cold", **cold)], pods, {}, Policy())
    assert [reason.code for reason in verdict.reasons] == ["ephemeral_pool"] * len(named)
    assert all(f"Pool {name} keeps" in reason.message for name, reason in zip(named, verdict.reasons, strict=True))


class Cluster:
    """A pool of three in a scripted namespace, and members of the same names that hold nothing."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.world = World()
        self.servers = Servers(
            state=state_answer(NAMES, elected="data-0"), nodes={identity(name): info(name) for name in NAMES}
        )
        self.world.starts = self.servers.start
        monkeypatch.setattr(pod_roll, "connect", lambda *_options: self.servers)
        monkeypatch.setattr(kubernetes, "connect", lambda _options: self.world)

    def also(self, name: str, **changes: Any) -> None:
        """One more member, in a pod that another set owns."""
        self.servers.state["nodes"][identity(name)] = {"name": name, "ephemeral_id": f"ephemeral-{name}"}
        self.servers.nodes[identity(name)] = info(name)
        self.world.pods[name] = pod_json(name, f"uid-{name}", **changes)

    def roll(self, *batch: str, **params: Any) -> dict[str, Any]:
        given = {name: option.get("default") for name, option in pod_roll.CONTRACT.argument_spec.items()}
        task = {"namespace": "search", "pools": ["data"], "batch": list(batch), "expected": list(NAMES), "wait": False}
        return perform(pod_roll.run, Task({**given, **task, **params}, clock=self.world))


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    return Cluster(monkeypatch)


def codes(result: dict[str, Any]) -> list[str]:
    return [reason["code"] for reason in result["verdict"]["reasons"]]


def test_nothing_goes_while_a_pod_of_another_pool_is_being_deleted(there: Cluster) -> None:
    there.also("warm-0", terminating=True)
    result = there.roll("data-2")
    assert (codes(result), there.world.deleted) == (["member_leaving"], [])
    there.also("warm-0")
    there.roll("data-2")
    assert [name for name, _uid in there.world.deleted] == ["data-2"]


def test_nothing_goes_that_may_be_a_member_of_another_name_although_that_was_there_before(there: Cluster) -> None:
    for side in (there.servers.state["nodes"], there.servers.nodes):
        side[identity("x")] = {**side.pop(identity("data-2")), "name": "x", "ip": "192.0.2.1"}
    result = there.roll("data-2", expected=[*NAMES, "x"])
    assert (codes(result), there.world.deleted) == (["member_unrecognised"], [])
    result = there.roll("data-2", expected=[*NAMES, "x"], wait=True, wait_timeout=30)
    assert (codes(result), there.world.deleted) == (["member_unrecognised", "timed_out"], [])


def test_a_ready_pod_that_is_out_of_the_cluster_for_a_moment_is_waited_for(there: Cluster) -> None:
    there.servers.state["nodes"][identity("x")] = {"name": "x", "ephemeral_id": "ephemeral-x"}
    there.servers.nodes[identity("x")] = {**info("x"), "ip": "192.0.2.1"}
    state = there.servers.state["nodes"].pop(identity("data-2"))
    there.world.on_tick = [
        lambda: None,
        lambda: there.servers.state["nodes"].update({identity("data-2"): state}),
    ]
    result = there.roll("data-2", expected=[*NAMES, "x"], wait=True, wait_timeout=30, wait_sleep=1.0)
    assert [name for name, _uid in there.world.deleted] == ["data-2"]
    assert result["waited"][0]["code"] == "member_unrecognised"


def test_a_batch_waits_until_its_members_have_said_where_their_data_is(
    there: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The data paths of others do not replace those of the batch, and are not waited for."""
    get, looks = there.servers.get, [{"data-0", "data-2"}, {"data-0"}]

    def partial(path: str, **params: Any) -> Any:
        answer = get(path, **params)
        if not path.endswith("/settings") or not path.startswith("/_nodes"):
            return answer
        silent = looks.pop(0) if len(looks) > 1 else looks[0]
        return {"nodes": {key: one for key, one in answer["nodes"].items() if one["name"] not in silent}}

    monkeypatch.setattr(there.servers, "get", partial)
    result = there.roll("data-2", wait=True, wait_timeout=30, wait_sleep=1.0)
    assert [name for name, _uid in there.world.deleted] == ["data-2"]
    assert result["waited"][0]["code"] == "opensearch_incomplete"


def unreadable(name: str, address: str = "") -> dict[str, Any]:
    """A pod of another owner whose conditions no one understands."""
    pod = pod_json(name, f"uid-{name}", owner="another")
    pod["status"].update(conditions=[{"type": "Ready", "status": "Perhaps"}], podIP=address)
    return pod


@pytest.mark.parametrize(
    ("name", "address", "matters"),
    [
        ("web-1", "10.9.9.9", False),
        ("web-1", "", False),
        # One of its own set, one that is a member by name, and one at the address of a member.
        ("data-0", "10.9.9.9", True),
        ("warm-0", "10.9.9.9", True),
        ("web-1", "10.0.0.1", True),
        # Of a pool that has another pod in the cluster.
        ("warm-1", "10.9.9.9", True),
    ],
)
def test_a_pod_that_cannot_be_read_holds_up_what_it_may_be_a_part_of(
    there: Cluster, name: str, address: str, matters: bool
) -> None:
    there.world.add("warm")
    there.also("warm-0")
    there.world.pods[name] = unreadable(name, address)
    result = there.roll("data-2", expected=[*NAMES, "warm-0"])
    assert [one for one, _uid in there.world.deleted] == ["data-2"] * (not matters)
    assert codes(result) == ["kubernetes_not_understood"] or not matters


def test_a_pod_of_which_not_even_the_name_can_be_read_may_be_any(there: Cluster) -> None:
    there.world.pods["web-1"] = unreadable("web-1")
    del there.world.pods["web-1"]["metadata"]["name"]
    assert codes(there.roll("data-2")) == ["kubernetes_not_understood"]


def test_nothing_goes_while_another_pools_controller_rolls_it(there: Cluster) -> None:
    there.world.add("warm", updateStrategy={"type": "RollingUpdate"})
    there.also("warm-0", revision="warm-old")
    result = there.roll("data-2")
    assert (codes(result), there.world.deleted) == (["strategy_rolls_by_itself"], [])
    there.also("warm-0")
    del there.world.pods["warm-1"]
    there.roll("data-2")
    assert [name for name, _uid in there.world.deleted] == ["data-2"]


class TestOfAPoolWithoutVolumes:
    """`data-2` runs, has lost its connection, and is to be replaced."""

    @pytest.fixture(autouse=True)
    def _away(self, there: Cluster) -> None:
        for side in (there.servers.state["nodes"], there.servers.nodes):
            del side[identity("data-2")]
        lost = {**copy("i", None, primary=True), "unassigned_info": {"reason": "NODE_LEFT"}}
        there.servers.state = state_answer(NAMES[:2], [lost], elected="data-0")

    def test_the_last_copy_may_be_in_a_pod_that_runs(self, there: Cluster) -> None:
        result = there.roll("data-2")
        assert (codes(result), there.world.deleted) == (["ephemeral_last_copy"], [])

    def test_it_is_not_where_the_data_is_in_a_volume(self, there: Cluster) -> None:
        there.world.pool["spec"].update(KEPT)
        there.roll("data-2")
        assert [name for name, _uid in there.world.deleted] == ["data-2"]

    def test_consent_to_the_index_gives_it_up(self, there: Cluster) -> None:
        there.roll("data-2", allow_red_indices=["i"])
        assert [name for name, _uid in there.world.deleted] == ["data-2"]

    def test_a_pod_that_has_ended_holds_nothing_any_more(self, there: Cluster) -> None:
        there.world.pods["data-2"] = pod_json(
            "data-2", "data-2-old", revision="data-old", phase="Failed", reason="Evicted", ready=False
        )
        there.roll("data-2")
        assert [name for name, _uid in there.world.deleted] == ["data-2"]


def actions_on(result: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["action"] for each in result["members"]}


def test_only_a_member_that_runs_the_target_counts_as_upgraded_by_another(there: Cluster) -> None:
    """Something has put the image of the pool back: its pods are as it wants them, and were not upgraded."""
    there.world = World(outdated=())
    there.servers.nodes[identity("data-1")] = info("data-1", "3.8.0")
    result = there.roll("data-1", "data-2", target_version="3.8.0")
    assert actions_on(result) == {"data-1": "kept", "data-2": "untouched"}
    assert there.world.deleted == []
    assert "wrong_version" in codes(result)
    # Without a version nothing says that one was upgraded, and nothing that it was not.
    assert set(actions_on(there.roll("data-1", "data-2")).values()) == {"kept"}


@pytest.mark.parametrize("target", ["3.8.0", None])
def test_the_process_that_went_with_its_pod_is_not_the_member_that_is_back(there: Cluster, target: str | None) -> None:
    """Its Kubernetes node was lost with it, and the cluster has not noticed: the new pod is Ready before that."""
    there.world.starts = lambda _name: None
    there.world.after = [lambda: None, lambda: there.servers.start("data-2", target or "2.19.6")]
    result = there.roll("data-2", target_version=target, wait=True, wait_timeout=30, wait_sleep=1.0)
    assert codes(result) == []
    assert "not_restarted" in {each["code"] for each in result["waited"]}


def test_without_an_answer_no_member_counts_as_upgraded_by_another(
    there: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    there.world = World(outdated=())
    there.servers.nodes[identity("data-1")] = info("data-1", "3.8.0")

    def silent(*_asked: Any) -> Any:
        raise Unreachable.because("opensearch_unreachable", "It does not answer.", "Wait.")

    monkeypatch.setattr(batch_proof, "observe_members", silent)
    assert actions_on(there.roll("data-1", target_version="3.8.0")) == {"data-1": "untouched"}
