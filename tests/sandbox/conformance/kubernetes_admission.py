"""Cases of admission: what refuses a pod, also one that is only asked for (`dryRun`), and in which order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.sandbox.conformance.kubernetes_asking import Asking, Json, outcome
from tests.sandbox.conformance.kubernetes_objects import namespace_of
from tests.sandbox.kubernetes.api import MERGE
from tests.sandbox.web import Answer

_ENFORCE = "pod-security.kubernetes.io/enforce"
_CLASS = "conformance-claims"
_OF_CLAIMS = {
    "persistentvolumeclaims": "3",
    "requests.storage": "3Gi",
    f"{_CLASS}.storageclass.storage.k8s.io/requests.storage": "5Gi",
    f"{_CLASS}.storageclass.storage.k8s.io/persistentvolumeclaims": "2",
    "pods": "0",
}
_SMALL = {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "500m", "memory": "64Mi"}}


def _pod(name: str = "data-0", resources: Json | None = None, **spec: Any) -> Json:
    container: Json = {"name": "server", "image": "probe:1", "resources": resources or {}}
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


def _enforce(ask: Asking, here: str, level: str | None, pod: Json, status: int) -> None:
    """Enforce a level. Admission reads labels from a cache that is updated after the answer: the answer to a pod
    whose name is free shows that it is."""
    ask("PATCH", here, {"metadata": {"labels": {_ENFORCE: level}}}, media_type=MERGE)
    ask.until(lambda: ask("POST", f"{here}/pods", pod, dryRun="All").status == status)


def _refusals(answer: Answer) -> Json | list[Any]:
    """The outcome of a request that several limits refuse, which no server names in order."""
    found = outcome(answer)
    several = re.fullmatch(r"(.*): \[(.*)\]", found["message"]) if isinstance(found, dict) else None
    if several is None or not isinstance(found, dict):
        return found
    return {**found, "message": [several[1], *sorted(re.split(", (?!but )", several[2]))]}


def security(ask: Asking) -> Iterator[Any]:
    """Pod Security, and that a name which is taken is looked at last."""
    here = namespace_of(ask, "conformance-security")
    pods = f"{here}/pods"
    first: Json = {"name": "sysctl", "image": "probe:1", "securityContext": {"privileged": True}}
    yield outcome(ask("POST", pods, _pod()))
    yield outcome(ask("POST", pods, _pod(), dryRun="All"))
    yield outcome(ask("POST", pods, _pod(initContainers=[first]), dryRun="All"))
    unsafe = _pod("data-1", initContainers=[first])
    _enforce(ask, here, "baseline", unsafe, 403)
    yield outcome(ask("POST", pods, _pod(), dryRun="All"))
    yield outcome(ask("POST", pods, _pod(initContainers=[first]), dryRun="All"))
    host = [{"name": "logs", "hostPath": {"path": "/var/log"}}]
    yield outcome(ask("POST", pods, _pod("data-1", hostNetwork=True, hostPID=True, volumes=host), dryRun="All"))
    _enforce(ask, here, "restricted", _pod("data-1"), 403)
    yield outcome(ask("POST", pods, _pod(), dryRun="All"))
    safe: Json = _pod("data-1", securityContext={"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}})
    safe["spec"]["containers"][0]["securityContext"] = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    yield outcome(ask("POST", pods, safe, dryRun="All"))
    _enforce(ask, here, None, unsafe, 201)
    yield outcome(ask("POST", pods, _pod(initContainers=[first]), dryRun="All"))
    kept = _pod("data-2")
    kept["metadata"]["finalizers"] = ["conformance.example/kept"]
    ask("POST", pods, kept)
    ask("DELETE", f"{pods}/data-2", gracePeriodSeconds="0")
    yield outcome(ask("POST", pods, kept, dryRun="All"))
    ask("PATCH", f"{pods}/data-2", {"metadata": {"finalizers": None}}, media_type=MERGE)


def admission(ask: Asking) -> Iterator[Any]:
    """A PriorityClass and a ServiceAccount that are not there, asked under a name that is taken."""
    pods = namespace_of(ask, "conformance-admission") + "/pods"
    yield outcome(ask("POST", pods, _pod()))
    yield outcome(ask("POST", pods, _pod(priorityClassName="gone"), dryRun="All"))
    yield outcome(ask("POST", pods, _pod(serviceAccountName="gone"), dryRun="All"))
    ask("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "conformance"}, "value": 7})
    ask.until(lambda: ask("POST", pods, _pod(priorityClassName="conformance"), dryRun="All").status != 403)
    yield outcome(ask("POST", pods, _pod(priorityClassName="conformance"), dryRun="All"))
    made = ask("POST", pods, _pod("data-1", priorityClassName="conformance"), dryRun="All")
    yield [made.status, made.body["spec"]["priority"]]


def limits(ask: Asking) -> Iterator[Any]:
    """A LimitRange fills in, and refuses, also under a name that is taken."""
    here = namespace_of(ask, "conformance-limits")
    item: Json = {"type": "Container", "min": {"cpu": "100m", "memory": "99Mi"}, "maxLimitRequestRatio": {"cpu": "10"}}
    pods, ranges = f"{here}/pods", f"{here}/limitranges"
    yield outcome(ask("POST", pods, _pod()))
    made = ask("POST", ranges, {"metadata": {"name": "limits"}, "spec": {"limits": [item]}})
    yield made.body["spec"]["limits"]
    tiny = {"requests": {"cpu": "1m", "memory": "16Mi"}, "limits": {"cpu": "100m", "memory": "64Mi"}}
    ask.until(lambda: ask("POST", pods, _pod("data-1", tiny), dryRun="All").status == 403)
    yield _refusals(ask("POST", pods, _pod(resources=tiny), dryRun="All"))
    yield _refusals(ask("POST", pods, _pod(), dryRun="All"))
    bare = {"limits": {"cpu": "1", "memory": "1Gi"}}
    yield outcome(ask("POST", pods, _pod(resources=bare), dryRun="All"))
    filled = ask("POST", pods, _pod("data-1", bare), dryRun="All")
    yield [filled.status, filled.body["spec"]["containers"][0]["resources"]]
    whole = {
        "min": {"cpu": "1m"},
        "max": {"memory": "1Gi"},
        "defaultRequest": {"memory": "128Mi"},
        "default": {"cpu": "2"},
    }
    ask("DELETE", f"{ranges}/limits")
    made = ask("POST", ranges, {"metadata": {"name": "all"}, "spec": {"limits": [{"type": "Container", **whole}]}})
    yield made.body["spec"]["limits"]

    def given() -> Json:
        answer = ask("POST", pods, _pod("data-1"), dryRun="All")
        found: Json = answer.body["spec"]["containers"][0]["resources"] if answer.status == 201 else {}
        return found

    ask.until(lambda: "128Mi" in str(given()))
    yield given()
    much = {"limits": {"memory": "2Gi"}}
    yield _refusals(ask("POST", pods, _pod(resources=much), dryRun="All"))


def quotas(ask: Asking) -> Iterator[Any]:
    """A ResourceQuota counts the pod that is there, also against another of its name, and is asked last."""
    here = namespace_of(ask, "conformance-quotas")
    pods, all_quotas = f"{here}/pods", f"{here}/resourcequotas"
    yield outcome(ask("POST", pods, _pod(resources=_SMALL)))
    hard = {"pods": "2", "requests.cpu": "150m", "limits.cpu": "500m", "requests.memory": "1Gi", "memory": "1Gi"}
    ask("POST", all_quotas, {"metadata": {"name": "tight"}, "spec": {"hard": hard}})

    def offered(name: str = "data-0", resources: Json | None = None) -> Answer:
        return ask("POST", pods, _pod(name, _SMALL if resources is None else resources), dryRun="All")

    ask.until(lambda: "exceeded quota" in offered().body.get("message", ""))
    yield outcome(offered())
    yield outcome(offered("data-1", {}))
    fits = {"requests": {"cpu": "50m", "memory": "1Mi"}, "limits": {"cpu": "50m", "memory": "1Mi"}}
    ask("PATCH", f"{all_quotas}/tight", {"spec": {"hard": {"limits.cpu": "1"}}}, media_type=MERGE)
    ask.until(lambda: offered("data-1", fits).status == 201)
    yield outcome(offered("data-0", fits))
    # A dry run is not counted.
    yield outcome(offered("data-1", fits))
    ask("PATCH", f"{all_quotas}/tight", {"spec": {"hard": {"pods": "1"}}}, media_type=MERGE)
    ask.until(lambda: offered("data-1", fits).status == 403)
    yield outcome(offered("data-0", fits))
    # Quotas are checked last: a refusal by a quota shows that all other checks admit the pod.
    ask("PATCH", here, {"metadata": {"labels": {_ENFORCE: "restricted"}}}, media_type=MERGE)
    ask.until(lambda: "exceeded quota" not in offered("data-1", fits).body["message"])
    yield outcome(offered("data-0", fits))
    ask("PATCH", here, {"metadata": {"labels": {_ENFORCE: None}}}, media_type=MERGE)
    ask.until(lambda: "exceeded quota" in offered("data-1", fits).body["message"])
    yield outcome(ask("POST", pods, _pod("data-0", fits, priorityClassName="gone"), dryRun="All"))
    limit = {"type": "Container", "min": {"memory": "2Mi"}}
    ask("POST", f"{here}/limitranges", {"metadata": {"name": "limits"}, "spec": {"limits": [limit]}})
    ask.until(lambda: "exceeded quota" not in offered("data-1", fits).body["message"])
    yield outcome(offered("data-0", fits))


def _claim(name: str, size: str = "1Gi", storage_class: str = _CLASS) -> Json:
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    return {"metadata": {"name": name}, "spec": {**asked, "storageClassName": storage_class}}


def _refused_by_a_quota(ask: Asking, request: Callable[[], Answer]) -> Answer:
    """The first answer to a request that a quota refuses. Before admission has read what the quota's controller has
    counted, it refuses all requests for another reason (`status unknown for quota`)."""
    answers = list[Answer]()

    def holds() -> bool:
        answers.append(request())
        return "exceeded quota" in answers[-1].body.get("message", "")

    ask.until(holds)
    return answers[-1]


def claim_quotas(ask: Asking) -> Iterator[Any]:
    """A ResourceQuota counts volume claims: new ones, larger ones, those of a StorageClass, and none in a dry run."""
    here = namespace_of(ask, "conformance-claim-quotas")
    claims, quota = f"{here}/persistentvolumeclaims", f"{here}/resourcequotas/tight"
    expanding = {"provisioner": "no.example", "allowVolumeExpansion": True}
    ask("POST", "/apis/storage.k8s.io/v1/storageclasses", {"metadata": {"name": _CLASS}, **expanding})
    ask("POST", claims, _claim("data-0"))
    ask("POST", quota.rpartition("/")[0], {"metadata": {"name": "tight"}, "spec": {"hard": _OF_CLAIMS}})

    def used() -> Json:
        found: Json = ask("GET", quota).body["status"].get("used", {})
        return found

    ask.until(lambda: used().get("persistentvolumeclaims") == "1")
    yield used()
    yield outcome(_refused_by_a_quota(ask, lambda: ask("POST", claims, _claim("data-1", "4Gi"), dryRun="All")))
    yield outcome(ask("POST", claims, _claim("data-1"), dryRun="All"))
    yield used()
    yield outcome(ask("POST", claims, _claim("data-1")))
    yield used()
    yield outcome(_refused_by_a_quota(ask, lambda: ask("POST", claims, _claim("data-2"), dryRun="All")))
    yield outcome(ask("POST", claims, _claim("data-2", storage_class="other"), dryRun="All"))

    def grown(size: str) -> Answer:
        """A claim that is bound, for as long as its controller does not look at it, asks for more."""
        ask("PATCH", f"{claims}/data-0/status", {"status": {"phase": "Bound"}}, media_type=MERGE)
        larger = {"spec": {"resources": {"requests": {"storage": size}}}}
        return ask("PATCH", f"{claims}/data-0", larger, media_type=MERGE, dryRun="All")

    yield outcome(_refused_by_a_quota(ask, lambda: grown("3Gi")))
    ask.until(lambda: grown("2Gi").status == 200)
    yield used()
    # The name is compared after the quotas.
    yield outcome(ask("POST", claims, _claim("data-0", "2Gi"), dryRun="All"))
    ask("DELETE", f"{claims}/data-1")
    ask.until(lambda: used()["persistentvolumeclaims"] == "1")
    yield used()
    ask.until(lambda: ask("POST", claims, _claim("data-2"), dryRun="All").status == 201)
