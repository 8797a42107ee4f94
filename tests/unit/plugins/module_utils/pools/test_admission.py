"""A pod that goes has to be let in again: asked of an API server in memory whose admission is that of the lab's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.client import KubernetesClient
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.pods import pods_of
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.stateful_sets import get_stateful_set
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.successor import successor
from ansible_collections.stateful.upgrade.plugins.module_utils.pools import admission
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.pod_roll import Questions, roll
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes.objects import pool_json

from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.api import MERGE
from tests.sandbox.kubernetes.cluster import TOKENS, Kubernetes
from tests.sandbox.kubernetes.in_process import InProcess
from tests.sandbox.kubernetes.kinds import PODS
from tests.sandbox.kubernetes.objects import Refused

Json = dict[str, Any]
HERE = "/api/v1/namespaces/search"
POOL = "/apis/apps/v1/namespaces/search/statefulsets/data"
SYSCTL = {"name": "sysctl", "image": "busybox:1.36", "securityContext": {"privileged": True}}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
SMALL = {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "500m", "memory": "64Mi"}}


class Room:
    """A pool of two whose pods run, and the client of a user."""

    def __init__(self, **of_container: Any) -> None:
        self.kubernetes = Kubernetes(Clock())
        self.api = InProcess(self.kubernetes.server, token=TOKENS["admin"])
        pool = pool_json(replicas=2)
        del pool["metadata"]["resourceVersion"], pool["status"]
        container = {"name": "server", "image": "probe:1", **of_container}
        spec = pool["spec"]
        spec["template"]["metadata"]["annotations"] = {"note": "kept"}
        spec["template"]["spec"] = {"containers": [container], "initContainers": [SYSCTL]}
        spec["serviceName"] = "search"
        spec["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": CLAIM}]
        self.ask("POST", POOL.rpartition("/")[0], pool)
        assert self.kubernetes.until(lambda: len(self.pods()) == 2)

    def ask(self, method: str, path: str, body: Json, **how: Any) -> Json:
        answer = self.kubernetes.ask(method, path, body, **how)
        assert answer.status < 300, answer.body
        return dict(answer.body)

    def change(self, path: str, body: Json) -> None:
        self.ask("PATCH", path, body, media_type=MERGE)
        self.kubernetes.clock.advance(1)

    def enforce(self, level: str) -> None:
        self.change(HERE, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": level}}})

    def quota(self, **hard: str) -> None:
        self.ask("POST", f"{HERE}/resourcequotas", {"metadata": {"name": "tight"}, "spec": {"hard": hard}})
        self.kubernetes.clock.advance(1)

    def template(self, **spec: Any) -> None:
        self.change(POOL, {"spec": {"updateStrategy": {"type": "OnDelete"}, "template": {"spec": spec}}})

    def pods(self) -> dict[str, Json]:
        return {each["metadata"]["name"]: each for each in self.kubernetes.server.store.list(PODS, "search")}

    def client(self) -> KubernetesClient:
        return self.api.client()

    def judged(self, *names: str) -> Verdict:
        """Before the deletion of these pods."""
        client = self.client()
        pool = get_stateful_set(client, "search", "data")
        pods = pods_of(client, pool)
        return admission.judge_successors(client, dict.fromkeys(pods, pool), [pods[name] for name in names])

    def planned(self, monkeypatch: pytest.MonkeyPatch, image: str = "probe:1", user: str = "admin") -> Json:
        """In the plan."""
        api = InProcess(self.kubernetes.server, token=TOKENS[user])
        monkeypatch.setattr(admission, "connect", lambda _options: api.client())
        one = admission.Planned("data", ["data-0", "data-1"], "server", image)
        params = {"kubernetes": {}, "namespace": "search", "planned": [one], "wait": False}
        found: Json = perform(admission.run, Task(params))["verdict"]
        return found


def codes(verdict: Verdict) -> list[str]:
    return [reason.code for reason in verdict.reasons]


def test_the_pod_that_is_offered_is_the_one_that_the_controller_makes() -> None:
    room = Room()
    pool = get_stateful_set(room.client(), "search", "data")
    offered, made = successor(pool, "data-1"), room.pods()["data-1"]
    # The server adds the place of its Kubernetes node.
    assert offered["metadata"]["labels"].items() <= made["metadata"]["labels"].items()
    assert {"apps.kubernetes.io/pod-index", "controller-revision-hash"} <= offered["metadata"]["labels"].keys()
    for field in ("name", "generateName", "namespace", "annotations"):
        assert offered["metadata"][field] == made["metadata"][field]
    (owner,) = made["metadata"]["ownerReferences"]
    ours = {key: value for key, value in owner.items() if key != "blockOwnerDeletion"}
    assert offered["metadata"]["ownerReferences"] == [ours]
    for field in ("hostname", "subdomain", "volumes"):
        assert offered["spec"][field] == made["spec"][field]


def test_a_pod_that_is_admitted_passes_while_its_name_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room()
    before = room.pods()
    assert room.judged("data-0", "data-1").passed
    assert room.planned(monkeypatch) == {"state": "passed", "reasons": []}
    assert room.pods() == before


def remove_priority(room: Room) -> None:
    room.template(priorityClassName="gone")


def remove_account(room: Room) -> None:
    room.template(serviceAccountName="gone")


def demand_memory(room: Room) -> None:
    limit = {"type": "Container", "max": {"memory": "1Mi"}}
    room.ask("POST", f"{HERE}/limitranges", {"metadata": {"name": "limits"}, "spec": {"limits": [limit]}})


def webhook(code: int, reason: str) -> Callable[[Room], None]:
    """A webhook that refuses pods, with a code of its own choice."""

    def refuse(kind: Any, _before: Any, after: Any) -> None:
        if kind == PODS and after is not None:
            raise Refused(code, reason, 'admission webhook "w.example" denied the request: no')

    return lambda room: room.kubernetes.server.resources.admission.append(refuse)


@pytest.mark.parametrize(
    ("refuse", "names"),
    [
        (
            lambda room: room.enforce("baseline"),
            'violates PodSecurity "baseline:latest": privileged (container "sysctl"',
        ),
        (remove_priority, "no PriorityClass with name gone was found"),
        (remove_account, 'serviceaccount "gone" not found'),
        (demand_memory, "maximum memory usage per Container is 1Mi"),
        (webhook(400, "BadRequest"), 'admission webhook "w.example" denied the request: no'),
        # Not as the name that is taken, which has the same code.
        (webhook(409, "Conflict"), 'admission webhook "w.example" denied the request: no'),
        (webhook(409, ""), 'admission webhook "w.example" denied the request: no'),
    ],
)
def test_what_would_not_be_admitted_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, refuse: Callable[[Room], None], names: str
) -> None:
    room = Room(resources=SMALL)
    refuse(room)
    (reason,) = room.judged("data-1").reasons
    assert (reason.code, reason.state.value) == ("member_not_admitted", "refused")
    assert names in reason.message
    assert "data-1" in reason.message
    assert [each["code"] for each in room.planned(monkeypatch)["reasons"]] == ["member_not_admitted"]


def test_a_quota_that_only_just_fits_is_no_hindrance(monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room(resources=SMALL)
    room.template(initContainers=[])
    room.quota(**{"pods": "2", "requests.cpu": "200m", "limits.memory": "128Mi"})
    assert room.judged("data-0").passed
    assert room.planned(monkeypatch)["state"] == "passed"


def test_a_quota_without_room_for_what_a_new_template_asks_for_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room(resources=SMALL)
    more = {**SMALL, "requests": {"cpu": "150m", "memory": "64Mi"}}
    room.template(initContainers=[], containers=[{"name": "server", "image": "probe:2", "resources": more}])
    room.quota(**{"requests.cpu": "250m"})
    # One member may grow, and not both.
    assert room.judged("data-0").passed
    assert [each["code"] for each in room.planned(monkeypatch)["reasons"]] == ["member_not_admitted"]


def test_a_pod_that_has_ended_makes_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room(resources=SMALL)
    room.template(initContainers=[])
    room.quota(pods="1")
    assert codes(room.judged("data-0")) == ["member_not_admitted"]


def test_a_user_who_may_make_no_pods_is_told_that_it_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room()
    rules = [{"apiGroups": ["apps", ""], "resources": ["statefulsets", "pods"], "verbs": ["get", "list"]}]
    group = "/apis/rbac.authorization.k8s.io/v1/namespaces/search"
    room.ask("POST", f"{group}/roles", {"metadata": {"name": "reader"}, "rules": rules})
    binding = {"metadata": {"name": "r"}, "roleRef": {"kind": "Role", "name": "reader"}}
    room.ask("POST", f"{group}/rolebindings", {**binding, "subjects": [{"kind": "User", "name": "upgrader"}]})
    (reason,) = room.planned(monkeypatch, user="upgrader")["reasons"]
    assert (reason["code"], reason["state"]) == ("member_admission_unknown", "passed")


def test_an_answer_that_may_pass_is_no_refusal() -> None:
    room = Room()
    room.kubernetes.server.faults.answer(500, "POST", r"/namespaces/search/pods$", 9)
    with pytest.raises(Unreachable):
        room.judged("data-0")


def test_a_member_stays_up_if_its_namespace_no_longer_admits_it() -> None:
    room = Room()
    room.change(POOL, {"spec": {"template": {"metadata": {"annotations": {"note": "new"}}}}})
    room.enforce("baseline")
    before = room.pods()
    questions = Questions(lambda _pools, _there, _gone: Verdict(), lambda _names, _deleted: Verdict())
    task = Task({"wait": True, "wait_timeout": 60, "wait_sleep": 1.0})
    outcome = roll(task, room.client(), "search", ["data"], ["data-1"], questions)
    assert codes(outcome.verdict) == ["member_not_admitted"]
    assert (outcome.changed, room.pods()) == (False, before)
