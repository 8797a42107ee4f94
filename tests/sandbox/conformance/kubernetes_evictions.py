"""Cases of the Eviction API: preconditions, dry runs, and what a budget counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.lab.namespace import probe_set
from tests.sandbox.conformance.kubernetes_asking import Asking, Json, outcome
from tests.sandbox.kubernetes.api import MERGE
from tests.sandbox.web import Answer

_NAMESPACE = "conformance-evictions"
_HERE = f"/api/v1/namespaces/{_NAMESPACE}"
_BUDGETS = f"/apis/policy/v1/namespaces/{_NAMESPACE}/poddisruptionbudgets"


def _evict(ask: Asking, pod: str, *, named: str = "", dry_run: bool = False, **options: Any) -> Answer:
    body = {"metadata": {"name": named or pod, "namespace": _NAMESPACE}, "deleteOptions": options}
    query = {"dryRun": "All"} if dry_run else {}
    return ask("POST", f"{_HERE}/pods/{pod}/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", **body}, **query)


def _worded(answer: Answer) -> list[Any]:
    """The outcome, with the words of the causes."""
    causes = answer.body.get("details", {}).get("causes", [])
    return [outcome(answer), [each.get("message") for each in causes], "reason" in answer.body]


def evictions(ask: Asking) -> Iterator[Any]:
    """Evictions that are made, and those that are not."""
    ask("POST", "/api/v1/namespaces", {"metadata": {"name": _NAMESPACE}})
    ask.until(lambda: ask("GET", f"{_HERE}/serviceaccounts/default").status == 200)
    ask("POST", f"/apis/apps/v1/namespaces/{_NAMESPACE}/statefulsets", probe_set("data"))
    path = f"/apis/apps/v1/namespaces/{_NAMESPACE}/statefulsets/data"
    ask.until(lambda: ask("GET", path).body.get("status", {}).get("readyReplicas") == 3)
    yield _worded(_evict(ask, "data-9"))
    yield _worded(_evict(ask, "data-0", named="data-1"))
    yield _worded(_evict(ask, "data-0", preconditions={"uid": "another"}))
    yield _worded(_evict(ask, "data-0", dry_run=True))
    _budget(ask, "one")
    ask.until(lambda: _status(ask).get("disruptionsAllowed") == 1)
    yield _worded(_evict(ask, "data-0", dry_run=True))
    yield _status(ask)["disruptionsAllowed"]
    _budget(ask, "two")
    yield _worded(_evict(ask, "data-0"))
    ask("DELETE", f"{_BUDGETS}/two")
    uid = _uid(ask, "data-0")
    # Until its finalizer is gone no other pod takes its place, however long the requests take that come before.
    _finalizers(ask, "data-0", ["conformance.example/kept"])
    yield _worded(_evict(ask, "data-0", preconditions={"uid": uid}))
    ask.until(lambda: _status(ask).get("currentHealthy") == 2)
    yield _worded(_evict(ask, "data-1"))
    yield _worded(_evict(ask, "data-1", dry_run=True))
    _finalizers(ask, "data-0", None)
    ask.until(lambda: _uid(ask, "data-0") not in {"", uid} and _status(ask).get("disruptionsAllowed") == 1)
    # The budget counts the pod before the server sees that it is another one.
    yield _worded(_evict(ask, "data-1", preconditions={"uid": "another"}))
    ask.until(lambda: _status(ask).get("currentHealthy") == 2)
    yield [_status(ask)["disruptionsAllowed"], sorted(_status(ask)["disruptedPods"])]
    yield _worded(_evict(ask, "data-1"))
    ask("DELETE", path)
    ask.until(lambda: not ask("GET", f"{_HERE}/pods").body["items"])


def _budget(ask: Asking, name: str) -> None:
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "data"}}}
    ask("POST", _BUDGETS, {"metadata": {"name": name}, "spec": spec})


def _finalizers(ask: Asking, pod: str, names: list[str] | None) -> None:
    ask("PATCH", f"{_HERE}/pods/{pod}", {"metadata": {"finalizers": names}}, media_type=MERGE)


def _status(ask: Asking) -> Json:
    found: Json = ask("GET", f"{_BUDGETS}/one").body.get("status", {})
    return found


def _uid(ask: Asking, pod: str) -> str:
    return str(ask("GET", f"{_HERE}/pods/{pod}").body["metadata"].get("uid", ""))
