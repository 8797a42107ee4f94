"""The API server in memory: objects, versions, preconditions, patches and who may what."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.api import APPLY, MERGE, OPERATIONS, STRATEGIC, ApiServer
from tests.sandbox.kubernetes.rights import ADMIN, User
from tests.sandbox.web import Answer, CutOff, Pending, Request, answered

MAPS = "/api/v1/namespaces/here/configmaps"
SETS = "/apis/apps/v1/namespaces/here/statefulsets"
ADMINS = "secret"
Json = dict[str, Any]


class Asking:
    """An API server, and requests to it."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.server = ApiServer(self.clock, {ADMINS: ADMIN, "other": User("upgrader")})
        self("POST", "/api/v1/namespaces", {"metadata": {"name": "here"}})
        self("POST", "/api/v1/namespaces/here/serviceaccounts", {"metadata": {"name": "default"}})

    def __call__(
        self, method: str, path: str, body: Any = None, *, patch: str = "", token: str = ADMINS, **query: str
    ) -> Answer:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": patch or "application/json"}
        return answered(self.server, Request(method, path, query, body, headers), self.clock)


@pytest.fixture
def ask() -> Asking:
    return Asking()


def config_map(name: str = "one", **metadata: Any) -> Json:
    return {"metadata": {"name": name, **metadata}, "data": {"key": "value"}}


def stateful_set() -> Json:
    template = {"metadata": {"labels": {"app": "data"}}, "spec": {"containers": [{"name": "server", "image": "a:1"}]}}
    selector = {"matchLabels": {"app": "data"}}
    return {"metadata": {"name": "data"}, "spec": {"serviceName": "x", "selector": selector, "template": template}}


def reason(answer: Answer) -> tuple[int, str]:
    assert answer.body["kind"] == "Status", answer
    return answer.status, answer.body["reason"]


def test_an_object_has_an_identity_and_a_version(ask: Asking) -> None:
    made = ask("POST", MAPS, config_map())
    assert made.status == 201
    assert (made.body["kind"], made.body["apiVersion"]) == ("ConfigMap", "v1")
    assert made.body["metadata"]["uid"]
    assert made.body["metadata"]["creationTimestamp"] == "2027-01-15T08:00:00Z"
    assert ask("GET", f"{MAPS}/one").body == made.body
    assert reason(ask("POST", MAPS, config_map())) == (409, "AlreadyExists")
    again = ask("POST", MAPS, {"metadata": {"generateName": "one-"}}).body["metadata"]["name"]
    assert again.startswith("one-")
    assert len(again) == 9
    listed = ask("GET", MAPS).body
    assert listed["kind"] == "ConfigMapList"
    assert [each["metadata"]["name"] for each in listed["items"]] == ["one", again]


def test_what_is_not_there_is_said_in_the_words_of_the_server(ask: Asking) -> None:
    missing = ask("GET", f"{MAPS}/none")
    assert missing.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'configmaps "none" not found',
        "reason": "NotFound",
        "details": {"name": "none", "kind": "configmaps"},
        "code": 404,
    }
    elsewhere = ask("POST", "/api/v1/namespaces/elsewhere/configmaps", config_map())
    assert elsewhere.body["message"] == 'namespaces "elsewhere" not found'
    assert ask("GET", "/apis/none/v1/things").body == "404 page not found\n"
    assert reason(ask("POST", f"{MAPS}/one", config_map())) == (405, "MethodNotAllowed")
    ask("POST", MAPS, config_map())
    assert reason(ask("PATCH", f"{MAPS}/one", {}, patch="application/xml")) == (415, "UnsupportedMediaType")


def test_a_write_over_another_version_is_a_conflict(ask: Asking) -> None:
    made = ask("POST", MAPS, config_map()).body
    changed = ask("PATCH", f"{MAPS}/one", {"data": {"key": "new", "more": "1"}}, patch=MERGE).body
    assert changed["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"]
    refused = ask("PUT", f"{MAPS}/one", made)
    assert reason(refused) == (409, "Conflict")
    assert refused.body["message"].startswith('Operation cannot be fulfilled on configmaps "one": the object has been')
    same = ask("PATCH", f"{MAPS}/one", {"data": {"key": "new"}}, patch=MERGE).body
    assert same["metadata"]["resourceVersion"] == changed["metadata"]["resourceVersion"]
    for key, value in (("uid", "x"), ("resourceVersion", "1")):
        assert reason(ask("DELETE", f"{MAPS}/one", {"preconditions": {key: value}})) == (409, "Conflict")
    assert ask("DELETE", f"{MAPS}/one", {"preconditions": {"uid": made["metadata"]["uid"]}}).body["status"] == "Success"
    assert reason(ask("DELETE", f"{MAPS}/one")) == (404, "NotFound")


def test_each_kind_of_patch(ask: Asking) -> None:
    ask("POST", SETS, stateful_set())
    path = f"{SETS}/data"
    image = {"spec": {"template": {"spec": {"containers": [{"name": "server", "image": "a:2"}]}}}}
    containers = ask("PATCH", path, image, patch=STRATEGIC).body["spec"]["template"]["spec"]["containers"]
    assert (containers[0]["image"], containers[0]["terminationMessagePath"]) == ("a:2", "/dev/termination-log")
    operations = [
        {"op": "test", "path": "/spec/replicas", "value": 1},
        {"op": "replace", "path": "/spec/replicas", "value": 3},
        {"op": "add", "path": "/metadata/annotations", "value": {"a/b": "1"}},
        {"op": "remove", "path": "/metadata/annotations/a~1b"},
    ]
    assert ask("PATCH", path, operations, patch=OPERATIONS).body["spec"]["replicas"] == 3
    assert ask("PATCH", path, operations, patch=OPERATIONS).status == 422
    refused = ask("PATCH", path, {"spec": {"updateStrategy": {"type": "OnDelete"}}}, patch=STRATEGIC)
    assert reason(refused) == (422, "Invalid")
    held = {"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": None}}}
    found = ask("PATCH", path, held, patch=STRATEGIC, dryRun="All").body
    assert found["spec"]["updateStrategy"] == {"type": "OnDelete"}
    kept = ask("GET", path).body
    assert kept["spec"]["updateStrategy"] == {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
    assert kept["metadata"]["generation"] == 3


def test_an_apply_takes_away_what_it_no_longer_says(ask: Asking) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", **config_map(labels={"a": "1"})}
    path = f"{MAPS}/one"
    assert reason(ask("PATCH", path, body, patch=APPLY)) == (422, "Invalid")
    assert ask("PATCH", path, body, patch=APPLY, fieldManager="owner").status == 201
    ask("PATCH", path, {"data": {"other": "mine"}}, patch=MERGE, fieldManager="somebody")
    body["data"] = {"new": "1"}
    applied = ask("PATCH", path, body, patch=APPLY, fieldManager="owner")
    assert (applied.status, applied.body["data"]) == (200, {"other": "mine", "new": "1"})
    refused = ask("PATCH", path, {**body, "data": {"other": "yours"}}, patch=APPLY, fieldManager="owner")
    assert reason(refused) == (409, "Conflict")
    assert refused.body["message"] == 'Apply failed with 1 conflict: conflict with "somebody" using v1: .data.other'
    body["data"] = {"other": "yours"}
    forced = ask("PATCH", path, body, patch=APPLY, fieldManager="owner", force="true").body
    assert forced["data"] == {"other": "yours"}
    assert [each["manager"] for each in forced["metadata"]["managedFields"]] == ["owner"]


def test_a_finalizer_keeps_an_object_until_it_is_taken_away(ask: Asking) -> None:
    ask("POST", MAPS, config_map(finalizers=["example.org/hold"]))
    assert ask("DELETE", f"{MAPS}/one").body["metadata"]["deletionTimestamp"]
    assert ask("GET", f"{MAPS}/one").status == 200
    ask("PATCH", f"{MAPS}/one", {"metadata": {"finalizers": None}}, patch=MERGE)
    assert ask("GET", f"{MAPS}/one").status == 404


def test_the_status_is_written_apart(ask: Asking) -> None:
    ask("POST", SETS, {**stateful_set(), "status": {"replicas": 5}})
    path = f"{SETS}/data"
    assert ask("GET", path).body["status"]["replicas"] == 0
    both = {"spec": {"replicas": 2}, "status": {"replicas": 1}}
    found = ask("PATCH", f"{path}/status", both, patch=MERGE).body
    assert (found["spec"]["replicas"], found["status"]["replicas"], found["metadata"]["generation"]) == (1, 1, 1)
    found = ask("PATCH", path, {"spec": {"replicas": 2}, "status": {"replicas": 7}}, patch=MERGE).body
    assert (found["spec"]["replicas"], found["status"]["replicas"], found["metadata"]["generation"]) == (2, 1, 2)
    assert ask("PATCH", f"{path}/scale", {"spec": {"replicas": 4}}, patch=MERGE).body["spec"] == {"replicas": 4}


def test_selectors(ask: Asking) -> None:
    for name, labels in (("a", {"x": "1"}), ("b", {"x": "2", "y": ""}), ("c", {})):
        ask("POST", MAPS, config_map(name, labels=labels))

    def found(**query: str) -> list[str]:
        return [each["metadata"]["name"] for each in ask("GET", MAPS, **query).body["items"]]

    assert found(labelSelector="x=1") == ["a"]
    assert found(labelSelector="x in (1, 2),y") == ["b"]
    assert found(labelSelector="x!=1") == ["b", "c"]
    assert found(labelSelector="!x") == ["c"]
    assert found(labelSelector="x notin (2)") == ["a", "c"]
    assert found(fieldSelector="metadata.name=b") == ["b"]
    assert reason(ask("GET", MAPS, fieldSelector="data.key=b")) == (400, "BadRequest")
    assert reason(ask("GET", MAPS, labelSelector="x=1=2")) == (400, "BadRequest")


def test_who_may_what(ask: Asking) -> None:
    assert reason(ask("GET", MAPS, token="unknown")) == (401, "Unauthorized")
    refused = ask("GET", f"{MAPS}/one", token="other")
    assert reason(refused) == (403, "Forbidden")
    assert refused.body["message"] == (
        'configmaps "one" is forbidden: User "upgrader" cannot get resource "configmaps" in API group ""'
        ' in the namespace "here"'
    )
    group = "/apis/rbac.authorization.k8s.io/v1/namespaces/here"
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}]
    ask("POST", f"{group}/roles", {"metadata": {"name": "reader"}, "rules": rules})
    subjects = [{"kind": "User", "name": "upgrader"}, {"kind": "ServiceAccount", "name": "robot"}]
    reference = {"kind": "Role", "name": "reader"}
    ask("POST", f"{group}/rolebindings", {"metadata": {"name": "b"}, "roleRef": reference, "subjects": subjects})
    assert ask("GET", MAPS, token="other").status == 200
    assert ask("POST", MAPS, config_map(), token="other").status == 403
    review = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    wanted = {"verb": "list", "resource": "configmaps", "namespace": "here"}
    answer = ask("POST", review, {"spec": {"resourceAttributes": wanted}}, token="other")
    assert (answer.status, answer.body["status"]["allowed"]) == (201, True)
    accounts = "/api/v1/namespaces/here/serviceaccounts"
    ask("POST", accounts, {"metadata": {"name": "robot"}})
    token = ask("POST", f"{accounts}/robot/token", {"spec": {}}).body["status"]["token"]
    assert ask("GET", MAPS, token=token).status == 200
    ask("DELETE", f"{accounts}/robot")
    assert ask("GET", MAPS, token=token).status == 401


def test_a_watch_goes_on_from_a_version(ask: Asking) -> None:
    since = ask("GET", MAPS).body["metadata"]["resourceVersion"]
    pending = ask.server(Request("GET", MAPS, {"watch": "1", "resourceVersion": since}, None, _admin()))
    assert isinstance(pending, Pending)
    assert not pending.ready()
    ask("POST", MAPS, config_map())
    ask("DELETE", f"{MAPS}/one")
    assert pending.ready()
    lines = pending.answer().text.splitlines()
    assert ['"ADDED"' in lines[0], '"DELETED"' in lines[1]] == [True, True]
    ask.server.store.compact()
    gone = ask("GET", MAPS, watch="1", resourceVersion="1").text
    assert '"code": 410' in gone


def test_what_fails_on_demand(ask: Asking) -> None:
    ask.server.faults.answer(429, "GET", "configmaps", times=2, retry_after=1)
    first = ask("GET", MAPS)
    assert (first.status, first.headers["Retry-After"]) == (429, "1")
    assert [ask("GET", MAPS).status for _time in range(2)] == [429, 200]
    ask.server.faults.cut("POST", "configmaps", made=True)
    with pytest.raises(CutOff):
        ask("POST", MAPS, config_map())
    assert ask("GET", f"{MAPS}/one").status == 200


def _admin() -> dict[str, str]:
    return {"Authorization": f"Bearer {ADMINS}"}


ENGINE = {"apiVersion": "x.example/v1", "kind": "Engine", "metadata": {"name": "one"}}


def test_a_definition_is_established_and_takes_its_objects_with_it(ask: Asking) -> None:
    names = {"plural": "engines", "kind": "Engine"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "x.example", "scope": "Namespaced", "names": names, "versions": [version]}
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    engines = "/apis/x.example/v1/namespaces/here/engines"
    for _time in range(2):
        assert ask("POST", definitions, {"metadata": {"name": "engines.x.example"}, "spec": spec}).status == 201
        ask.clock.advance(0.1)
        found = ask("GET", f"{definitions}/engines.x.example").body["status"]
        assert [each["type"] for each in found["conditions"]] == ["NamesAccepted", "Established"]
        assert ask("GET", engines).body["items"] == []
        assert ask("POST", engines, {**ENGINE, "spec": {"any": 1}}).body["spec"] == {"any": 1}
        ask("DELETE", f"{definitions}/engines.x.example")
        assert ask("GET", engines).status == 404


def test_an_object_is_held_to_the_definition_as_it_is_now(ask: Asking) -> None:
    names = {"plural": "engines", "kind": "Engine"}
    schema: dict[str, Any] = {"type": "object", "properties": {"spec": {"type": "object", "properties": {}}}}
    number = schema["properties"]["spec"]["properties"]
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "x.example", "scope": "Namespaced", "names": names, "versions": [version]}
    definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    number["size"], number["pace"] = {"type": "integer"}, {"type": "integer"}
    ask("POST", definition, {"metadata": {"name": "engines.x.example"}, "spec": spec})
    ask.clock.advance(0.1)
    engines = "/apis/x.example/v1/namespaces/here/engines"
    assert ask("POST", engines, {**ENGINE, "spec": {"size": 9, "pace": 1}}).status == 201
    assert ask("PATCH", f"{engines}/one", {"spec": {"pace": 2}}, patch=MERGE).status == 200
    number["size"] = {"type": "integer", "maximum": 5}
    assert ask("PATCH", f"{definition}/engines.x.example", {"spec": spec}, patch=MERGE).status == 200
    refused = ask("PATCH", f"{engines}/one", {"spec": {"pace": 3}}, patch=MERGE)
    assert (refused.status, "spec.size" in refused.body["message"]) == (422, True)
