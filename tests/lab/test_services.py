"""Services reach Ready pods in turn, and no pod when none is Ready; users have the rights bound to them."""

from __future__ import annotations

import json
import urllib.error
from typing import Any

import pytest
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from tests.lab.namespace import Namespace, fetch, probe_set
from tests.lab.waiting import until

TIMEOUT = 60.0


def _service(**annotations: str) -> dict[str, Any]:
    metadata = {"name": "web", "annotations": annotations}
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": "http"}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def _address(namespace: Namespace) -> str:
    def look() -> str | None:
        found = namespace.core.read_namespaced_service("web", namespace.name).metadata.annotations or {}
        address: str | None = found.get("lab/address")
        return address

    return str(until("the service's address", look, TIMEOUT))


def _reached(url: str) -> set[str]:
    """The pods behind the service, as six requests in turn find them. (Each is process 1 of its own container.)"""
    try:
        return {json.loads(fetch(f"{url}/environment"))["HOSTNAME"] for _number in range(6)}
    except OSError:
        return set()


def test_a_service_follows_ready_pods(namespace: Namespace) -> None:
    namespace.apply(_service(), probe_set("web", replicas=2))
    for name in ("web-0", "web-1"):
        namespace.until_ready(name)
    url = f"http://{_address(namespace)}"
    until("both pods behind the service", lambda: _reached(url) == {"web-0", "web-1"}, TIMEOUT)
    namespace.put("web-0", "/unready")
    until("one pod behind the service", lambda: _reached(url) == {"web-1"}, TIMEOUT)
    namespace.put("web-1", "/unready")

    def refused() -> bool:
        try:
            fetch(f"{url}/pid")
        except urllib.error.URLError as error:
            return isinstance(error.reason, ConnectionRefusedError)
        except ConnectionError:
            return False  # caught at the time when its pod left the service
        return False

    until("a refused connection", refused, TIMEOUT)
    namespace.put("web-0", "/ready")
    until("a pod behind the service again", lambda: _reached(url) == {"web-0"}, TIMEOUT)


def test_a_service_takes_the_address_it_is_given(namespace: Namespace) -> None:
    address = f"{namespace.lab.address_range.split('.0.0/')[0]}.250.77"
    namespace.apply(_service(**{"lab/address": address}), probe_set("web", replicas=1))
    namespace.until_ready("web-0")
    until("the service", lambda: _reached(f"http://{address}") == {"web-0"}, TIMEOUT)


def test_the_upgrader_has_the_rights_bound_to_it_and_no_others(namespace: Namespace) -> None:
    with namespace.lab.client("upgrader") as api:
        core: Any = client.CoreV1Api(api)
        with pytest.raises(ApiException) as refused:
            core.list_namespaced_pod(namespace.name)
        assert refused.value.status == 403
        rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
        subject = {"kind": "User", "name": "upgrader", "apiGroup": "rbac.authorization.k8s.io"}
        reference = {"kind": "Role", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"}
        version = "rbac.authorization.k8s.io/v1"
        metadata = {"name": "reader"}
        namespace.apply(
            {"apiVersion": version, "kind": "Role", "metadata": metadata, "rules": rules},
            {
                "apiVersion": version,
                "kind": "RoleBinding",
                "metadata": metadata,
                "roleRef": reference,
                "subjects": [subject],
            },
        )

        def listed() -> bool:
            try:
                core.list_namespaced_pod(namespace.name)
            except ApiException:
                return False
            return True

        until("the role's effect", listed, TIMEOUT)
        with pytest.raises(ApiException):
            core.list_namespaced_secret(namespace.name)
