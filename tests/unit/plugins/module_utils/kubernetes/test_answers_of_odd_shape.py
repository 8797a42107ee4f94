"""Answers of the Kubernetes API of another shape, to what is asked for a port-forward and for a pull: none is a bug."""

from __future__ import annotations

from typing import Any, cast

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import NotUnderstood
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.client import KubernetesClient
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.port_forward import PortForward, named_port
from ansible_collections.stateful.upgrade.plugins.module_utils.pools import image_pull
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes.objects import pod_json, pool_json


class Odd:
    """An API server with a Service, and with what it says of a pod that is made."""

    host = "https://api"

    def __init__(self, service: Any = None, made: Any = None) -> None:
        self.service, self.made = service, made

    def get(self, path: str) -> Any:
        return self.service if "/services/" in path else pool_json()

    def list(self, _path: str, **_selectors: Any) -> Any:
        return []

    def post(self, _path: str, _body: Any, **_options: Any) -> Any:
        return self.made


@pytest.mark.parametrize(
    "spec",
    [
        [],
        {"selector": []},
        {"selector": {"app": 1}},
        {"selector": {"app": "x"}, "ports": {}},
        {"selector": {"app": "x"}, "ports": [{}]},
        {"selector": {"app": "x"}, "ports": [{"port": "9200"}]},
        {"selector": {"app": "x"}, "ports": [{"port": 9200, "targetPort": {}}]},
    ],
)
def test_a_service_of_another_shape_is_not_understood(spec: Any) -> None:
    forward = PortForward(cast(KubernetesClient, Odd({"spec": spec})), {"namespace": "search", "service": "search"})
    with pytest.raises(NotUnderstood, match="is not understood"):
        forward.socket()


@pytest.mark.parametrize("containers", [{}, [1], [{"ports": {}}], [{"ports": [{"name": "rest"}]}]])
def test_the_ports_of_a_pod_of_another_shape_are_not_understood(containers: Any) -> None:
    with pytest.raises(NotUnderstood, match="about Pod data-2 is not understood"):
        named_port({**pod_json(), "spec": {"containers": containers}}, "rest")


def test_a_named_port_is_that_of_any_container() -> None:
    ports = [{"containerPort": 1}, {"name": "rest", "containerPort": 9200}]
    item = {**pod_json(), "spec": {"containers": [{"name": "a"}, {"name": "b", "ports": ports}]}}
    assert (named_port(item, "rest"), named_port(item, "other")) == (9200, None)


@pytest.mark.parametrize("made", [{}, {"metadata": []}, {"metadata": {"name": "data-image-pull-x"}}])
def test_a_pod_that_was_made_is_told_whatever_the_answer_says_of_it(monkeypatch: pytest.MonkeyPatch, made: Any) -> None:
    monkeypatch.setattr(image_pull, "connect", lambda _options: Odd(made=made))
    given = {name: option.get("default") for name, option in image_pull.CONTRACT.argument_spec.items()}
    own = {"namespace": "search", "pool": "data", "image": "opensearch:3.8.0", "kubernetes_nodes": "one"}
    result = perform(image_pull.run, Task({**given, **own}))
    assert [reason["code"] for reason in result["verdict"]["reasons"]] == ["kubernetes_not_understood"]
    (act,) = result["actions"]
    assert (act["action"], act["target"][:16]) == ("create_pod", "data-image-pull-")
