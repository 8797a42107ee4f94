"""Cases: the same requests to any API server. Each shows what has to be the same; names are of one namespace each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.sandbox.conformance.kubernetes_asking import Asking, Json, outcome
from tests.sandbox.kubernetes.api import APPLY, MERGE, OPERATIONS, STRATEGIC

_FILLED_BY_OTHERS = ("ownerReferences", "managedFields", "creationTimestamp", "uid", "resourceVersion")


def namespace_of(ask: Asking, name: str) -> str:
    """A namespace of the case, which can be used."""
    ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    ask.until(lambda: ask("GET", f"/api/v1/namespaces/{name}/serviceaccounts/default").status == 200)
    return f"/api/v1/namespaces/{name}"


def config_map(name: str = "one", **metadata: Any) -> Json:
    return {"metadata": {"name": name, **metadata}, "data": {"key": "value"}}


def stateful_set(**spec: Any) -> Json:
    container = {"name": "server", "image": "probe:1", "ports": [{"containerPort": 8080}]}
    template = {"metadata": {"labels": {"app": "data"}}, "spec": {"containers": [container]}}
    selector = {"matchLabels": {"app": "data"}}
    whole = {"serviceName": "x", "replicas": 0, "selector": selector, "template": template, **spec}
    return {"metadata": {"name": "data"}, "spec": whole}


def objects(ask: Asking) -> Iterator[Any]:
    """Making, reading and removing."""
    here = namespace_of(ask, "conformance-objects")
    maps = f"{here}/configmaps"
    yield outcome(ask("POST", maps, config_map()))
    yield outcome(ask("POST", maps, config_map()))
    yield outcome(ask("GET", f"{maps}/none"))
    yield outcome(ask("POST", "/api/v1/namespaces/nowhere/configmaps", config_map()))
    yield outcome(ask("POST", maps, config_map("two", namespace="other")))
    yield outcome(ask("POST", maps, {"metadata": {}}))
    yield outcome(ask("POST", maps, config_map("Not_A_Name")))
    yield outcome(ask("POST", maps, config_map("two", resourceVersion="7")))
    yield outcome(ask("POST", maps, config_map("two"), dryRun="All"))
    yield outcome(ask("GET", f"{maps}/two"))
    made = ask("POST", maps, {"metadata": {"generateName": "made-", "labels": {"a": "b"}}}).body
    yield [made["metadata"]["name"][:-5], sorted(made["metadata"]), made["apiVersion"]]
    listed = ask("GET", maps, labelSelector="a=b").body
    yield [listed["kind"], listed["apiVersion"], [sorted(each) for each in listed["items"]]]
    yield outcome(ask("DELETE", f"{maps}/one", dryRun="All"))
    yield outcome(ask("DELETE", f"{maps}/one"))
    yield outcome(ask("DELETE", f"{maps}/one"))
    yield outcome(ask("DELETE", maps))


def pages(ask: Asking) -> Iterator[Any]:
    """Lists in pages, which are all of one time, and an invalid place in a list."""
    maps = namespace_of(ask, "conformance-pages") + "/configmaps"
    for name in ("five", "four", "one", "three", "two"):
        ask("POST", maps, config_map(name, labels={"page": "yes"}))
    query = {"limit": "2", "labelSelector": "page=yes"}
    page = ask("GET", maps, **query).body
    yield [sorted(page["metadata"]), [each["metadata"]["name"] for each in page["items"]]]
    ask("DELETE", f"{maps}/two")
    ask("POST", maps, config_map("zero", labels={"page": "yes"}))
    for _more in range(2):
        page = ask("GET", maps, **{**query, "continue": page["metadata"]["continue"]}).body
        yield [sorted(page["metadata"]), [each["metadata"]["name"] for each in page["items"]]]
    everything = ask("GET", maps, limit="1").body["metadata"]
    yield [sorted(everything), everything["remainingItemCount"] >= 4]
    yield [ask("GET", maps, **{"limit": "2", "continue": "nonsense"}).status]


def paths(ask: Asking) -> Iterator[Any]:
    """Paths and methods that do not exist."""
    here = namespace_of(ask, "conformance-paths")
    ask("POST", f"{here}/configmaps", config_map())
    yield outcome(ask("GET", "/apis/nothing.example/v1/things"))
    yield outcome(ask("GET", f"{here}/things"))
    yield outcome(ask("GET", f"{here}/configmaps/one/status"))
    yield outcome(ask("POST", f"{here}/configmaps/one", config_map()))
    yield outcome(ask("PUT", f"{here}/configmaps", config_map()))
    yield outcome(ask("PATCH", f"{here}/configmaps/one", {}, media_type="application/xml"))
    yield outcome(ask("GET", f"{here}/configmaps", fieldSelector="data.key=b"))
    yield [ask("GET", f"{here}/configmaps", labelSelector="a=b=c").status]


def versions(ask: Asking) -> Iterator[Any]:
    """Writes over another version, and preconditions."""
    maps = namespace_of(ask, "conformance-versions") + "/configmaps"
    made = ask("POST", maps, config_map()).body
    changed = ask("PATCH", f"{maps}/one", {"data": {"key": "new"}}, media_type=MERGE).body
    yield made["metadata"]["resourceVersion"] != changed["metadata"]["resourceVersion"]
    same = ask("PATCH", f"{maps}/one", {"data": {"key": "new"}}, media_type=MERGE).body
    yield same["metadata"]["resourceVersion"] == changed["metadata"]["resourceVersion"]
    yield outcome(ask("PUT", f"{maps}/one", made))
    old = {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]}, "data": {"x": "y"}}
    yield outcome(ask("PATCH", f"{maps}/one", old, media_type=MERGE))
    other = "00000000-0000-0000-0000-000000000000"
    yield outcome(ask("PATCH", f"{maps}/one", {"metadata": {"uid": other}}, media_type=MERGE))
    yield outcome(ask("PUT", f"{maps}/one", config_map(uid=other)))
    yield outcome(ask("PATCH", f"{maps}/none", {}, media_type=MERGE))
    yield outcome(ask("PUT", f"{maps}/one", config_map("two")))
    yield outcome(ask("DELETE", f"{maps}/one", {"preconditions": {"uid": other}}))
    stale = {"preconditions": {"resourceVersion": made["metadata"]["resourceVersion"]}}
    refused = outcome(ask("DELETE", f"{maps}/one", stale))
    assert isinstance(refused, dict)
    yield [refused["code"], refused["reason"], refused["details"]]


def patches(ask: Asking) -> Iterator[Any]:
    """Every kind of patch on a StatefulSet."""
    sets = "/apis/apps/v1" + namespace_of(ask, "conformance-patches").removeprefix("/api/v1") + "/statefulsets"
    path = f"{sets}/data"
    ask("POST", sets, stateful_set())
    image = {"spec": {"template": {"spec": {"containers": [{"name": "server", "image": "probe:2"}]}}}}
    yield ask("PATCH", path, image, media_type=STRATEGIC).body["spec"]["template"]
    more = {"spec": {"template": {"spec": {"containers": [{"name": "more", "image": "busybox"}]}}}}
    containers = ask("PATCH", path, more, media_type=STRATEGIC).body["spec"]["template"]["spec"]["containers"]
    yield [each["name"] for each in containers]
    gone = {"spec": {"template": {"spec": {"containers": [{"name": "more", "$patch": "delete"}]}}}}
    containers = ask("PATCH", path, gone, media_type=STRATEGIC).body["spec"]["template"]["spec"]["containers"]
    yield [each["name"] for each in containers]
    operations = [
        {"op": "test", "path": "/spec/replicas", "value": 0},
        {"op": "add", "path": "/metadata/labels", "value": {"a": "b"}},
    ]
    yield ask("PATCH", path, operations, media_type=OPERATIONS).body["metadata"]["labels"]
    held = {"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": None}}}
    yield ask("PATCH", path, held, media_type=STRATEGIC).body["spec"]["updateStrategy"]
    rolling = {"spec": {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}}}
    changed = ask("PATCH", path, rolling, media_type=STRATEGIC).body
    yield [changed["spec"]["updateStrategy"], changed["metadata"]["generation"]]
    yield outcome(ask("PATCH", path, {"spec": {"updateStrategy": {"type": "OnDelete"}}}, media_type=STRATEGIC))
    yield outcome(ask("PATCH", path, {"spec": {"serviceName": "y"}}, media_type=MERGE))
    yield outcome(ask("PATCH", path, {"spec": {"replicas": -1}}, media_type=MERGE))
    labels = {"spec": {"template": {"metadata": {"labels": {"app": "other"}}}}}
    yield outcome(ask("PATCH", path, labels, media_type=MERGE))
    noted = ask("PATCH", path, {"metadata": {"annotations": {"a": "b"}}}, media_type=MERGE).body["metadata"]
    yield [noted["annotations"], noted["generation"]]
    bare = ask("PATCH", path, {"metadata": {"annotations": {"a": None}}}, media_type=MERGE).body["metadata"]
    yield "annotations" in bare
    other = "00000000-0000-0000-0000-000000000000"
    yield outcome(ask("DELETE", path, {"preconditions": {"uid": other}}))


def defaults(ask: Asking) -> Iterator[Any]:
    """Fields that are filled in."""
    here = namespace_of(ask, "conformance-defaults")
    sets = "/apis/apps/v1" + here.removeprefix("/api/v1") + "/statefulsets"
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    made = ask("POST", sets, stateful_set(volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": claim}])).body
    yield [made["spec"], made["status"], made["metadata"]["generation"]]
    port = {"name": "http", "port": 9200}
    service = ask("POST", f"{here}/services", {"metadata": {"name": "a"}, "spec": {"ports": [port]}}).body["spec"]
    yield {key: value for key, value in service.items() if key not in {"clusterIP", "clusterIPs"}}
    headless = {"metadata": {"name": "b"}, "spec": {"clusterIP": "None", "ports": [port]}}
    yield ask("POST", f"{here}/services", headless).body["spec"]["clusterIPs"]
    found = ask("GET", here).body
    yield [found["metadata"]["labels"], found["spec"], found["status"]["phase"]]
    budgets = "/apis/policy/v1" + here.removeprefix("/api/v1") + "/poddisruptionbudgets"
    budget = ask("POST", budgets, {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {}}}).body
    yield [budget["spec"], budget["metadata"]["generation"]]


def applies(ask: Asking) -> Iterator[Any]:
    """Server-side apply: who owns what."""
    path = namespace_of(ask, "conformance-applies") + "/configmaps/one"
    body: Json = {"apiVersion": "v1", "kind": "ConfigMap", **config_map(labels={"a": "1", "b": "2"})}
    yield outcome(ask("PATCH", path, body, media_type=APPLY))
    yield outcome(ask("PATCH", path, body, media_type=APPLY, fieldManager="owner"))
    ask("PATCH", path, {"data": {"other": "mine"}}, media_type=MERGE, fieldManager="somebody")
    body |= {"data": {"new": "1"}}
    body["metadata"] = {"name": "one", "labels": {"a": "1"}}
    applied = ask("PATCH", path, body, media_type=APPLY, fieldManager="owner")
    yield [applied.status, applied.body["data"], applied.body["metadata"]["labels"]]
    body["data"] = {"other": "yours"}
    yield outcome(ask("PATCH", path, body, media_type=APPLY, fieldManager="owner"))
    body["data"] = {"other": "yours", "key": "x"}
    forced = ask("PATCH", path, body, media_type=APPLY, fieldManager="owner", force="true").body
    entries = forced["metadata"]["managedFields"]
    yield [forced["data"], [[each["manager"], each["operation"], each["fieldsV1"]] for each in entries]]


def finalizers(ask: Asking) -> Iterator[Any]:
    """An object that something holds."""
    maps = namespace_of(ask, "conformance-finalizers") + "/configmaps"
    ask("POST", maps, config_map(finalizers=["example.org/hold"]))
    dying = ask("DELETE", f"{maps}/one")
    yield [outcome(dying), sorted(dying.body["metadata"].keys() - set(_FILLED_BY_OTHERS))]
    yield outcome(ask("DELETE", f"{maps}/one"))
    yield outcome(ask("PATCH", f"{maps}/one", {"metadata": {"finalizers": None}}, media_type=MERGE))
    yield outcome(ask("GET", f"{maps}/one"))


def rights(ask: Asking) -> Iterator[Any]:
    """A user without rights, and one with some."""
    here = namespace_of(ask, "conformance-rights")
    for method, path in (
        ("GET", f"{here}/configmaps"),
        ("GET", f"{here}/configmaps/one"),
        ("DELETE", f"{here}/pods/one"),
        ("GET", f"{here}/pods/one/log"),
        ("GET", "/api/v1/nodes"),
        ("GET", "/api/v1/nodes/one"),
        ("GET", "/apis/apps/v1/namespaces/conformance-rights/statefulsets"),
        ("GET", "/api/v1/pods"),
        ("GET", here),
    ):
        yield outcome(ask(method, path, user="upgrader"))
    yield outcome(ask("POST", f"{here}/configmaps", config_map(), user="upgrader"))
    yield outcome(ask("PATCH", f"{here}/configmaps/one", {}, media_type=MERGE, user="upgrader"))
    review = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    wanted = {"verb": "list", "resource": "configmaps", "namespace": "conformance-rights"}
    asked = {"spec": {"resourceAttributes": wanted}}
    before = ask("POST", review, asked, user="upgrader")
    yield [outcome(before), before.body["status"]["allowed"], ask("POST", review, asked).body["status"]["allowed"]]
    group = "/apis/rbac.authorization.k8s.io/v1/namespaces/conformance-rights"
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]
    yield outcome(ask("POST", f"{group}/roles", {"metadata": {"name": "reader"}, "rules": rules}))
    binding: Json = {"metadata": {"name": "reader"}, "roleRef": {"kind": "Role", "name": "reader"}}
    binding["roleRef"]["apiGroup"] = "rbac.authorization.k8s.io"
    made = ask("POST", f"{group}/rolebindings", {**binding, "subjects": [{"kind": "User", "name": "upgrader"}]})
    yield [outcome(made), made.body["subjects"]]
    ask.until(lambda: ask("POST", review, asked, user="upgrader").body["status"]["allowed"])
    yield outcome(ask("GET", f"{here}/configmaps", user="upgrader"))
    token = ask("POST", f"{here}/serviceaccounts/default/token", {"spec": {"expirationSeconds": 600}})
    yield [outcome(token), sorted(token.body["status"])]


def events(ask: Asking) -> Iterator[Any]:
    """Events as they may be."""
    path = namespace_of(ask, "conformance-events") + "/events"
    about = {"kind": "Pod", "name": "one", "namespace": "conformance-events"}
    event = {
        "metadata": {"generateName": "one."},
        "involvedObject": about,
        "reason": "R",
        "message": "m",
        "type": "Warning",
    }
    yield outcome(ask("POST", path, event))
    elsewhere = outcome(ask("POST", path, {**event, "involvedObject": {**about, "namespace": "other"}}))
    assert isinstance(elsewhere, dict)
    yield [elsewhere["code"], elsewhere["reason"], elsewhere["causes"]]
    fields = "involvedObject.kind=Pod,involvedObject.name=one"
    yield [each["reason"] for each in ask("GET", path, fieldSelector=fields).body["items"]]
    yield ask("GET", path, fieldSelector="involvedObject.name=two").body["items"]


def watches(ask: Asking) -> Iterator[Any]:
    """The changes that a watch of a part of the objects gets."""
    maps = namespace_of(ask, "conformance-watches") + "/configmaps"
    since = ask("GET", maps).body["metadata"]["resourceVersion"]
    ask("POST", maps, config_map(labels={"a": "1"}))
    ask("POST", maps, config_map("two"))
    ask("PATCH", f"{maps}/one", {"data": {"key": "new"}}, media_type=MERGE)
    ask("PATCH", f"{maps}/two", {"metadata": {"labels": {"a": "1"}}}, media_type=MERGE)
    ask("PATCH", f"{maps}/one", {"metadata": {"labels": None}}, media_type=MERGE)
    ask("DELETE", f"{maps}/two")
    answer = ask("GET", maps, watch="1", resourceVersion=since, labelSelector="a=1", timeoutSeconds="1")
    yield [_told(line) for line in str(answer.body).splitlines()]


def _told(line: str) -> list[Any]:
    change = json.loads(line)
    return [change["type"], change["object"]["kind"], change["object"]["metadata"]["name"]]
