"""Cases of commands in containers, and of the Secrets that they see."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from tests.lab.namespace import probe_pod
from tests.sandbox.conformance.kubernetes_asking import Asking, Json, outcome
from tests.sandbox.kubernetes.api import MERGE

_SPACE = "conformance-execution"
_HERE = f"/api/v1/namespaces/{_SPACE}"
_GROUP = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{_SPACE}"
_SETTINGS = "/settings/one"


def commands(ask: Asking) -> Iterator[Any]:
    """The rights for commands, the places where they run, and how their exits are reported."""
    path = f"{_HERE}/pods/one/exec"
    query = {"command": "true", "stdout": "true"}
    _begin(ask)
    yield from _refusals(ask, path, query)
    _ready(ask)
    yield outcome(ask("GET", path, **query))
    yield outcome(ask("GET", f"{_HERE}/pods/none/exec", **query))
    yield outcome(ask("GET", path, **query, container="other"))
    for words in (("true",), ("cat", _SETTINGS), ("cat", "/none"), ("sh", "-c", "exit 3"), ("none",)):
        yield ask.messages(path, [("command", word) for word in words], "stdout", "stderr")
    yield ask.messages(path, [("command", "cat"), ("command", _SETTINGS)], "stderr")
    ask("DELETE", _HERE)


def followed(ask: Asking) -> Iterator[Any]:
    """A Secret that changes, and a container that is ended from the inside."""
    path = f"{_HERE}-2/pods/one/exec"
    _begin(ask, f"{_SPACE}-2")
    _ready(ask, f"{_SPACE}-2")
    asked = [("command", "cat"), ("command", _SETTINGS)]
    before = ask("GET", f"{_HERE}-2/pods/one").body
    body = {"data": {"one": base64.b64encode(b"after").decode()}}
    yield outcome(ask("PATCH", f"{_HERE}-2/secrets/own", body, media_type=MERGE))
    ask.until(lambda: [1, "after"] in ask.messages(path, asked, "stdout"))
    ask.messages(path, [("command", "sh"), ("command", "-c"), ("command", "kill -TERM 1")], "stdout")
    ask.until(lambda: _status(ask, f"{_SPACE}-2").get("restartCount") == 1)
    _ready(ask, f"{_SPACE}-2")
    after, status = ask("GET", f"{_HERE}-2/pods/one").body, _status(ask, f"{_SPACE}-2")
    yield [before["metadata"]["uid"] == after["metadata"]["uid"], before["status"]["podIP"] == after["status"]["podIP"]]
    yield [sorted(status["state"]), sorted(status["lastState"]["terminated"]), status["ready"], status["started"]]
    ask("DELETE", f"{_HERE}-2")


def _begin(ask: Asking, space: str = _SPACE) -> None:
    here = f"/api/v1/namespaces/{space}"
    ask("POST", "/api/v1/namespaces", {"metadata": {"name": space}})
    ask.until(lambda: ask("GET", f"{here}/serviceaccounts/default").status == 200)
    ask("POST", f"{here}/secrets", {"metadata": {"name": "own"}, "stringData": {"one": "content"}})
    mounts = [{"name": "own", "mountPath": "/settings"}]
    volumes = [{"name": "own", "secret": {"secretName": "own"}}]
    ask("POST", f"{here}/pods", probe_pod("one", spec={"volumes": volumes}, volumeMounts=mounts))


def _ready(ask: Asking, space: str = _SPACE) -> None:
    ask.until(lambda: _status(ask, space).get("ready"))


def _status(ask: Asking, space: str) -> Json:
    found: Json = ask("GET", f"/api/v1/namespaces/{space}/pods/one").body
    return (found["status"].get("containerStatuses") or [{}])[0]


def _refusals(ask: Asking, path: str, query: dict[str, str]) -> Iterator[Any]:
    review = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    subject = {"kind": "User", "name": "upgrader", "apiGroup": "rbac.authorization.k8s.io"}
    reference = {"kind": "Role", "name": "run", "apiGroup": "rbac.authorization.k8s.io"}
    yield outcome(ask("GET", path, user="upgrader", **query))
    ask("POST", f"{_GROUP}/roles", {"metadata": {"name": "run"}, "rules": []})
    ask("POST", f"{_GROUP}/rolebindings", {"metadata": {"name": "run"}, "roleRef": reference, "subjects": [subject]})
    for verbs in (["get"], ["create"]):
        rules = [{"apiGroups": [""], "resources": ["pods/exec"], "verbs": verbs}]
        ask("PATCH", f"{_GROUP}/roles/run", {"rules": rules}, media_type=MERGE)
        attributes = {"verb": verbs[0], "resource": "pods", "subresource": "exec", "namespace": _SPACE}
        asked = {"spec": {"resourceAttributes": attributes}}
        ask.until(lambda asked=asked: ask("POST", review, asked, user="upgrader").body["status"]["allowed"])  # type: ignore[misc]
        yield outcome(ask("GET", path, user="upgrader", **query))
