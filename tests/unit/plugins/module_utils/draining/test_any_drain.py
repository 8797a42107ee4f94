"""Any drain, wherever runs are killed and answers lost: no budget is broken, nothing else goes, and all is put back."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.sandbox.kubernetes.api import MERGE
from tests.sandbox.kubernetes.kinds import PODS
from tests.unit.plugins.module_utils.draining.drained_cluster import HERE, UNDO, DrainedCluster, Killed, codes

MENDED = 15.0
"""Seconds after which nothing keeps a pod any more."""
STATIC = {"kubernetes.io/config.mirror": "abc"}


class AnyDrain:
    """A drain by as many runs as it takes."""

    def __init__(self, cluster: DrainedCluster, most: int, others: list[str], *, unready: bool) -> None:
        self.cluster, self.least = cluster, 3 - most
        for number, kind in enumerate(others):
            self._add(f"other-{number}", kind)
        if unready:
            cluster.kubernetes.faults.never_ready(HERE, "data-2")
            assert cluster.kubernetes.until(lambda: not cluster.is_ready("data-2"))
        cluster.budget(maxUnavailable=most)
        self.begun_with = self.healthy()
        self.broken: list[int] = []
        cluster.clock.listeners.append(self.check)
        cluster.clock.later(MENDED, self.mend)

    def _add(self, name: str, kind: str) -> None:
        if kind == "static":
            self.cluster.pod(name, annotations=STATIC)
        elif kind == "held":
            self.cluster.pod(name, "ReplicaSet", finalizers=["example.com/keep"])
        else:
            self.cluster.pod(name, kind)

    def healthy(self) -> int:
        """The pods of the budget that are well."""
        pods = [self.cluster.kubernetes.server.store.get(PODS, HERE, f"data-{number}") for number in range(3)]
        leaving = {each["metadata"]["name"] for each in pods if each and "deletionTimestamp" in each["metadata"]}
        names = [f"data-{number}" for number in range(3)]
        return sum(self.cluster.is_ready(name) and name not in leaving for name in names)

    def check(self) -> None:
        """Note whether the budget is broken now."""
        if self.healthy() < min(self.least, self.begun_with):
            self.broken.append(self.healthy())

    def mend(self) -> None:
        """End what keeps pods."""
        self.cluster.kubernetes.faults.mend(HERE, "data-2")
        for path in [each for each in self.cluster.api.objects if "/pods/other-" in each]:
            body = {"metadata": {"finalizers": None}}
            assert self.cluster.kubernetes.ask("PATCH", path, body, media_type=MERGE).status == 200

    def carry_out(self, kills: list[int]) -> list[str]:
        """The codes of the last run. Each number is that of the act after which a run is killed."""
        for number, act in enumerate([*kills, 1_000_000]):
            self.cluster.run, self.cluster.api.acts_left = f"run-{number}", act
            try:
                return codes(self.cluster.drain(wait_timeout=60))
            except Killed:
                continue
            finally:
                self.cluster.api.acts_left = 1_000_000
        raise AssertionError("the last run was killed")


@pytest.mark.parametrize("most", [0, 1, 2])
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.sampled_from(["ReplicaSet", "DaemonSet", "static", "held"]), max_size=4),
    st.booleans(),
    st.lists(st.integers(1, 3), max_size=2),
    st.integers(0, 2),
)
def test_no_budget_is_broken_and_all_is_put_back(
    most: int, others: list[str], unready: bool, kills: list[int], lost: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        cluster = DrainedCluster(patch)
        drain = AnyDrain(cluster, most, others, unready=unready)
        staying = {f"other-{n}": cluster.uid(f"other-{n}") for n, kind in enumerate(others) if kind[0] in "Ds"}
        if lost:
            cluster.kubernetes.server.faults.cut("POST", "/eviction$", times=lost, made=True)
        found = drain.carry_out(kills)
        assert found == (["drain_blocked", "timed_out"] if most == 0 else []), found
        assert cluster.on_node() == sorted([*staying, *(["data-1"] if most == 0 else [])])
        assert {name: cluster.uid(name) for name in staying} == staying
        assert drain.broken == []
        assert cluster.draining()[0].uncordon("node-b1") == ()
        assert "unschedulable" not in cluster.node()["spec"]
        assert UNDO not in cluster.node()["metadata"].get("annotations", {})
