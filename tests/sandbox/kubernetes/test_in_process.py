"""The collection's own client on the API server in memory: it raises what it raises on real connections."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import (
    Conflict,
    Denied,
    Refusal,
    Unreachable,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.pods import pods_of
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.rights import (
    Right,
    judge_namespace,
    missing_rights,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.state import Pod
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.stateful_sets import get_stateful_set

from tests.lab.namespace import probe_set
from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.cluster import TOKENS, Kubernetes
from tests.sandbox.kubernetes.in_process import InProcess
from tests.sandbox.kubernetes.kinds import PODS

MAPS = "/api/v1/namespaces/search/configmaps"
ONE = {"metadata": {"name": "one"}, "data": {"a": "b"}}


def test_what_is_missing_is_none_and_what_is_there_is_a_conflict() -> None:
    api = InProcess()
    client = api.client()
    assert client.get(f"{MAPS}/one") is None
    made = client.post(MAPS, ONE)
    with pytest.raises(Conflict):
        client.post(MAPS, ONE)
    assert client.list(MAPS)[0]["data"] == {"a": "b"}
    with pytest.raises(Conflict, match="the UID in the precondition"):
        client.delete(f"{MAPS}/one", "another")
    assert client.delete(f"{MAPS}/one", made["metadata"]["uid"])
    assert not client.delete(f"{MAPS}/one", made["metadata"]["uid"])
    with pytest.raises(Conflict):
        client.patch(f"{MAPS}/one", {}, "merge")
    assert api.asked[0] == ("GET", f"{MAPS}/one")


def test_reads_are_tried_again_and_writes_only_where_they_were_turned_away() -> None:
    api = InProcess()
    client, clock = api.client(), api.server.store.clock
    began = clock.now()
    api.server.faults.answer(500, "GET", "configmaps", times=2)
    assert client.list(MAPS) == []
    assert clock.now() > began
    api.server.faults.answer(429, "POST", "configmaps", times=2, retry_after=1000)
    assert client.post(MAPS, ONE)["metadata"]["name"] == "one"
    api.server.faults.answer(500, "PATCH", "configmaps")
    with pytest.raises(Unreachable, match="500"):
        client.patch(f"{MAPS}/one", {"data": {"c": "d"}}, "merge")
    api.lose_answers = 1
    with pytest.raises(Unreachable):
        client.patch(f"{MAPS}/one", {"data": {"c": "d"}}, "merge")
    assert api.objects[f"{MAPS}/one"]["data"] == {"a": "b", "c": "d"}
    api.away = True
    with pytest.raises(Unreachable, match="Connection refused"):
        client.get(f"{MAPS}/one")


def test_the_product_sees_a_pool_that_lives() -> None:
    kubernetes = Kubernetes(Clock())
    api = InProcess(kubernetes.server, TOKENS["admin"])
    pool = probe_set("data")
    pool["metadata"]["namespace"] = "search"
    kubernetes.apply([pool])
    client = api.client()

    def seen() -> dict[str, Pod]:
        return pods_of(client, get_stateful_set(client, "search", "data"))

    assert kubernetes.until(lambda: len(seen()) == 3 and all(each.ready for each in seen().values()))
    uid = seen()["data-1"].uid
    assert client.delete(PODS.path("search", "data-1"), uid)
    assert seen()["data-1"].terminating
    assert kubernetes.until(lambda: "data-1" in seen() and seen()["data-1"].uid != uid and seen()["data-1"].ready)


def test_a_namespace_that_is_not_there_is_told() -> None:
    kubernetes = Kubernetes(Clock())
    client = InProcess(kubernetes.server, TOKENS["admin"]).client()
    assert judge_namespace(client, "search").passed
    (reason,) = judge_namespace(client, "serach").reasons
    assert (reason.code, reason.message.startswith("There is no namespace serach in")) == ("namespace_missing", True)


def test_a_user_without_rights_is_told_so() -> None:
    kubernetes = Kubernetes(Clock())
    client = InProcess(kubernetes.server, TOKENS["upgrader"]).client()
    with pytest.raises(Denied, match="upgrader is not allowed to list pods in namespace search"):
        client.list(PODS.path("search"))
    verdict = missing_rights(client, "search", [Right("list", "", "pods")])
    (reason,) = verdict.reasons
    assert reason.code == "kubernetes_rights"
    assert reason.message.startswith("The user upgrader of the Kubernetes API may not list pods in namespace search.")
    # This user does not learn whether there is such a namespace.
    assert reason.remedy.startswith("Check the name of the namespace. Add to a Role in namespace search")
    assert judge_namespace(client, "serach").passed
    with pytest.raises(Refusal, match="401"):
        InProcess(kubernetes.server, "unknown").client().list(PODS.path("search"))
