"""The requests of a run: whether one is a look or an act, and which members it takes down. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tests.runs.observer.sight import Pod, Sight
from tests.sandbox.plain_hosts.jobs import PATH
from tests.sandbox.web import Request

CONTROLLER = "stateful.upgrade"
"""The beginning of the User-Agent of a controller's requests."""
ASKING = frozenset({"GET", "HEAD"})
_FREE = re.compile(r"/apis/(authorization|coordination)\.k8s\.io/|/api/v1/namespaces/[^/]+/events|/_component_template")
"""Reviews are questions; the lock is written to be held; an event reports what was done."""
_QUESTIONS = re.compile(r"/_cluster/allocation/explain|(/[^/]+)?/_(search|count|msearch|mget)|/_snapshot/[^/]+/_verify")
"""They may be asked with POST."""
_PULLS = re.compile(r"/api/v1/namespaces/[^/]+/pods(/[^/]*-image-pull-[^/]*)?")
"""Images are pulled before the lock is taken."""
_LOCK = re.compile(r"/apis/coordination\.k8s\.io/v1/namespaces/[^/]+/leases(/[^/]+)?|/_component_template(/.*)?")
OF_RECORD = re.compile(r"/api/v1/namespaces/[^/]+/configmaps(/.*)?")
"""The requests for records, which notices and what people say are written into without the lock."""
_STATE = re.compile(r"/_cluster/state/([^/]+)")
_PODS = re.compile(r"/api/v1/namespaces/([^/]+)/pods")
_POD = re.compile(rf"{_PODS.pattern}/([^/]+)")


def is_of_controller(request: Request) -> bool:
    """Whether a run of the collection has sent it."""
    return str(request.headers.get("User-Agent", "")).startswith(CONTROLLER)


def is_look_at_settings(request: Request) -> bool:
    """Whether a request shows the settings of the cluster."""
    return request.method == "GET" and request.path == "/_cluster/settings"


def is_look_at_cluster(request: Request) -> bool:
    """Whether its answer says which members there are, and on which of them the copies are."""
    found = _STATE.fullmatch(request.path) if request.method == "GET" else None
    return found is not None and {"routing_table", "nodes"} <= {*found[1].split(",")}


def is_look_at_pods(request: Request, namespace: str) -> bool:
    """Whether its answer has the pods."""
    found = _PODS.fullmatch(request.path)
    return request.method == "GET" and found is not None and found[1] == namespace


def is_look_at_lock(request: Request) -> bool:
    """Whether its answer names the holder of the lock."""
    return request.method == "GET" and _LOCK.fullmatch(request.path) is not None


def is_on_lock(request: Request) -> bool:
    """Whether it writes the lock."""
    return request.method not in ASKING and _LOCK.fullmatch(request.path) is not None


def is_act(request: Request) -> bool:
    """Whether it changes something that may be changed only under the lock."""
    if request.method in ASKING or _FREE.match(request.path) or request.query.get("dryRun"):
        return False
    return not _PULLS.fullmatch(request.path) and not _QUESTIONS.fullmatch(request.path)


def deleted_pod(request: Request, namespace: str) -> str:
    """The name of the pod whose deletion is asked for; empty if none is."""
    found = _POD.fullmatch(request.path) if request.method == "DELETE" else None
    return found[2] if found is not None and found[1] == namespace else ""


def uid_in(request: Request) -> str:
    """The UID in the precondition of a deletion; empty if there is none."""
    body = request.body if isinstance(request.body, Mapping) else {}
    return str((body.get("preconditions") or {}).get("uid") or "")


def taken_down(before: Sight, after: Sight) -> frozenset[str]:
    """The members that one request takes down: their pods go, or their pool's controller may replace them now."""
    gone = {name for name, pod in before.pods.items() if not pod.going and _goes(pod, after.pods.get(name))}
    return frozenset((gone | (_let_go(before, after) - _let_go(before, before))) & before.members.keys())


def stopped(before: Sight, after: Sight) -> frozenset[str]:
    """The members whose processes one request has ended, on hosts without Kubernetes."""
    ended = (name for name, member in before.members.items() if member.alive and not after.members[name].alive)
    return frozenset(ended)


def is_on_host(request: Request) -> bool:
    """Whether it is made to a host of a member."""
    return request.path.startswith(PATH)


def _goes(pod: Pod, now: Pod | None) -> bool:
    return now is None or now.going or now.uid != pod.uid


def _let_go(before: Sight, after: Sight) -> set[str]:
    """The pods of `before` that the controllers of the pools of `after` replace by themselves."""
    found = set()
    for pool in after.pools.values():
        was = before.pools.get(pool.name)
        outdated = was is not None and was.spec.get("template") != pool.spec.get("template")
        revision = pool if pool.revision or was is None else was
        found |= {
            name
            for name, pod in before.pods.items()
            if pool.lets_go(
                name, pod, outdated=outdated or (bool(revision.revision) and pod.revision != revision.revision)
            )
        }
    return found
