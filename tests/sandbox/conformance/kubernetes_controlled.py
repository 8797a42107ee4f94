"""Cases of CustomResourceDefinitions, and of what the controllers make of a pool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.lab.namespace import probe_set
from tests.sandbox.conformance.kubernetes_asking import Asking, Json, outcome
from tests.sandbox.kubernetes.api import MERGE, STRATEGIC

GROUP = "conformance.example"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_SPEC: Json = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 5},
        "mode": {"type": "string", "enum": ["fast", "safe"], "default": "safe"},
        "label": {"type": "string", "pattern": "^[a-z]+$"},
        "parts": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "names": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}
_STATUS: Json = {"type": "object", "properties": {"state": {"type": "string"}}}


def _definition(plural: str, *, status: bool) -> Json:
    schema = {"type": "object", "properties": {"spec": _SPEC, "status": _STATUS}}
    version: Json = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    if status:
        version["subresources"] = {"status": {}}
    names = {"plural": plural, "kind": plural.removesuffix("s").capitalize()}
    spec = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": f"{plural}.{GROUP}"}, "spec": spec}


def definitions(ask: Asking) -> Iterator[Any]:
    """Custom resources and their schema."""
    ask("POST", "/api/v1/namespaces", {"metadata": {"name": "conformance-custom"}})
    for plural, status in (("engines", True), ("plains", False)):
        yield outcome(ask("POST", _DEFINITIONS, _definition(plural, status=status)))
        path = f"/apis/{GROUP}/v1/namespaces/conformance-custom/{plural}"
        ask.until(lambda path=path: ask("GET", path).status == 200)  # type: ignore[misc]
        yield from _custom(ask, path, plural)


def _custom(ask: Asking, path: str, plural: str) -> Iterator[Any]:
    def body(**spec: Any) -> Json:
        kind = plural.removesuffix("s").capitalize()
        return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": "one"}, "spec": spec}

    unknown = body(size=1, more=1, parts=[{"name": "a", "odd": 1}], free={"x": 1}, names={"y": "z"})
    yield outcome(ask("POST", path, unknown, fieldValidation="Strict"))
    for spec in (
        {},
        {"size": "1"},
        {"size": 9},
        {"size": 0},
        {"size": 1, "mode": "odd"},
        {"size": 1, "label": "A"},
        {"size": 1, "names": {"y": 1}},
    ):
        yield outcome(ask("POST", path, body(**spec)))
    made = ask("POST", path, {**unknown, "status": {"state": "new"}})
    yield [made.status, made.body["spec"], made.body.get("status"), made.body["metadata"]["generation"]]
    item = f"{path}/one"
    changed = ask("PATCH", item, {"spec": {"size": 2}, "status": {"state": "x"}}, media_type=MERGE).body
    yield [changed["spec"]["size"], changed.get("status"), changed["metadata"]["generation"]]
    written = ask("PATCH", f"{item}/status", {"spec": {"size": 3}, "status": {"state": "y"}}, media_type=MERGE)
    if written.status == 200:
        yield [written.body["spec"]["size"], written.body["status"], written.body["metadata"]["generation"]]
    else:
        yield outcome(written)
    yield outcome(ask("PATCH", item, {}, media_type=STRATEGIC))
    listed = ask("GET", path).body
    yield [listed["kind"], [each["kind"] for each in listed["items"]]]
    # The message repeats the whole body.
    nameless = ask("POST", path, {"metadata": {"name": "two"}, "spec": {"size": 1}})
    yield [nameless.status, nameless.body["reason"]]
    yield outcome(ask("DELETE", item, {"gracePeriodSeconds": 0}, media_type=MERGE))
    yield outcome(ask("DELETE", item))


def pools(ask: Asking) -> Iterator[Any]:
    """A pool comes up, is rolled by hand, and is scaled; the controllers do their part."""
    ask("POST", "/api/v1/namespaces", {"metadata": {"name": "conformance-pools"}})
    here = "/api/v1/namespaces/conformance-pools"
    path = "/apis/apps/v1/namespaces/conformance-pools/statefulsets"
    ask.until(lambda: ask("GET", f"{here}/serviceaccounts/default").status == 200)
    ask("POST", path, probe_set("data", 2))

    def counted(ready: int, updated: int) -> Json:
        """The status of the pool once it has counted its pods: that which was looked at, since the next may differ."""
        found: Json = {}

        def settled() -> bool:
            pool = ask("GET", f"{path}/data").body
            found.clear()
            found.update(pool["status"])
            counts = [found.get(name) for name in ("replicas", "readyReplicas", "availableReplicas", "updatedReplicas")]
            seen = found.get("observedGeneration") == pool["metadata"]["generation"]
            return seen and counts == [ready] * 3 + [updated] and len(ask("GET", f"{here}/pods").body["items"]) == ready

        ask.until(settled)
        return _counts(found)

    yield counted(2, updated=2)
    yield [_shown(each) for each in ask("GET", f"{here}/pods").body["items"]]
    claims = ask("GET", f"{here}/persistentvolumeclaims").body["items"]
    yield [[each["metadata"]["name"], each["metadata"]["labels"], each["status"]["phase"]] for each in claims]
    image = {"spec": {"template": {"spec": {"containers": [{"name": "probe", "image": "probe:2"}]}}}}
    ask("PATCH", f"{path}/data", image, media_type=STRATEGIC)
    uid = ask("GET", f"{here}/pods/data-0").body["metadata"]["uid"]
    dying = ask("DELETE", f"{here}/pods/data-0", {"preconditions": {"uid": uid}})
    yield [dying.status, dying.body["kind"], dying.body["metadata"]["deletionGracePeriodSeconds"]]
    # The pod that is deleted counts as Ready until it is gone: only the new one is of the new template.
    yield counted(2, updated=1)
    yield [each["spec"]["containers"][0]["image"] for each in ask("GET", f"{here}/pods").body["items"]]
    ask("PATCH", f"{path}/data", {"spec": {"replicas": 1}}, media_type=MERGE)
    yield counted(1, updated=1)

    def told() -> set[tuple[str, str, str]]:
        events = ask("GET", f"{here}/events", fieldSelector="involvedObject.kind=StatefulSet").body["items"]
        return {(each["reason"], each["message"], each["source"]["component"]) for each in events}

    # Controllers write their events one after the other, and later than what they do.
    ask.until(lambda: any(reason == "SuccessfulDelete" for reason, *_about in told()))
    yield sorted(told())
    yield outcome(ask("DELETE", f"{path}/data"))
    ask.until(lambda: not ask("GET", f"{here}/pods").body["items"])


def _counts(status: Json) -> Json:
    same = status["currentRevision"] == status["updateRevision"]
    return {**{key: value for key, value in status.items() if "Revision" not in key}, "same": same}


def _shown(pod: Json) -> Json:
    """The parts of a Ready pod that have to be the same."""
    metadata, spec, status = pod["metadata"], pod["spec"], pod["status"]
    labels = {key: value for key, value in metadata["labels"].items() if key != "controller-revision-hash"}
    # A scheduler may choose any of the Kubernetes nodes.
    labels |= {key: "any" for key in labels if key.endswith("/zone")}
    container = {key: value for key, value in status["containerStatuses"][0].items() if key in _OF_CONTAINER}
    owner = {key: value for key, value in metadata["ownerReferences"][0].items() if key != "uid"}
    return {
        "labels": labels,
        "owner": owner,
        "generateName": metadata["generateName"],
        "spec": {key: spec[key] for key in _OF_SPEC},
        "phase": status["phase"],
        "conditions": sorted([each["type"], each["status"]] for each in status["conditions"]),
        "container": {**container, "state": sorted(container["state"])},
        "volumes": [each for each in spec["volumes"] if not each["name"].startswith("kube-api-access-")],
    }


_OF_CONTAINER = ("name", "image", "imageID", "ready", "started", "restartCount", "state", "lastState")
_OF_SPEC = (
    "hostname",
    "subdomain",
    "restartPolicy",
    "terminationGracePeriodSeconds",
    "schedulerName",
    "tolerations",
    "serviceAccountName",
)
