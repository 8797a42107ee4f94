"""Servers in memory behind sockets."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic import DynamicClient

from tests.lab.certificates import Authority
from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.api import ApiServer
from tests.sandbox.kubernetes.rights import ADMIN
from tests.sandbox.listening import Listening
from tests.sandbox.web import Answer, CutOff, Pending, Request

TOKEN = "secret"


@pytest.fixture
def listening() -> Iterator[Listening]:
    with Listening(Clock(), factor=100) as running:
        yield running


def answer(request: Request) -> Answer:
    if request.path == "/cut":
        raise CutOff(False)
    return Answer(201, {"method": request.method, "query": dict(request.query), "body": request.body}, {"X-More": "1"})


def test_a_request_is_answered(listening: Listening) -> None:
    port = listening.serve(answer)
    asked = urllib.request.Request(f"{port.url}/x?a=1&pretty", b'{"b": 2}', method="PUT")  # noqa: S310 - written above
    with urllib.request.urlopen(asked, timeout=10) as given:  # noqa: S310 - written above
        assert (given.status, given.headers["X-More"]) == (201, "1")
        assert json.load(given) == {"method": "PUT", "query": {"a": "1", "pretty": ""}, "body": {"b": 2}}


def test_a_connection_is_cut_without_an_answer(listening: Listening) -> None:
    port = listening.serve(answer)
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        urllib.request.urlopen(f"{port.url}/cut", timeout=10)  # noqa: S310 - written above


def test_an_answer_comes_when_it_is_ready_on_the_clock_that_follows_the_time(listening: Listening) -> None:
    done = list[float]()
    clock = listening.pace.clock
    clock.later(5, lambda: done.append(clock.now()))
    port = listening.serve(lambda _: Pending(lambda: bool(done), 1000, lambda: Answer(200, done)))
    with urllib.request.urlopen(port.url, timeout=10) as given:  # noqa: S310 - written above
        assert json.load(given) == done


def test_a_server_is_out_of_reach_and_comes_back_at_its_port(listening: Listening) -> None:
    port = listening.serve(answer)
    number = port.number
    port.close()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(port.url, timeout=10)  # noqa: S310 - written above
    port.open()
    assert port.number == number
    with urllib.request.urlopen(port.url, timeout=10) as given:  # noqa: S310 - written above
        assert given.status == 201


def test_what_fails_when_its_time_has_come_is_raised_at_the_end() -> None:
    tried = threading.Event()

    def fail() -> None:
        tried.set()
        raise RuntimeError("at its time")

    listening = Listening(Clock()).__enter__()
    with listening.lock:
        listening.pace.clock.later(0.01, fail)
    assert tried.wait(10)
    with pytest.raises(RuntimeError, match="at its time"):
        listening.__exit__()


@contextlib.contextmanager
def kubernetes(listening: Listening, directory: Path) -> Iterator[client.ApiClient]:
    authority = Authority("sandbox")
    server = ApiServer(listening.pace.clock, {TOKEN: ADMIN})
    port = listening.serve(server, identity=authority.issue("server", ["127.0.0.1"]))
    configuration: Any = client.Configuration(host=port.url, api_key={"authorization": f"Bearer {TOKEN}"})
    configuration.ssl_ca_cert = directory / "authority"
    configuration.ssl_ca_cert.write_bytes(authority.certificate)
    with client.ApiClient(configuration) as api:
        yield api


def test_the_kubernetes_client_speaks_with_the_api_server_over_tls(listening: Listening, tmp_path: Path) -> None:
    with kubernetes(listening, tmp_path) as api:
        core: Any = client.CoreV1Api(api)
        core.create_namespace({"metadata": {"name": "here"}})
        dynamic = DynamicClient(api, cache_file=str(tmp_path / "discovery"))
        resource = dynamic.resources.get(api_version="v1", kind="ConfigMap")
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "b"}}
        dynamic.server_side_apply(resource, body=body, name="one", namespace="here", field_manager="kubectl")
        core.patch_namespaced_config_map("one", "here", {"data": {"c": "d"}})
        found = core.read_namespaced_config_map("one", "here")
        assert found.data == {"a": "b", "c": "d"}
        with pytest.raises(ApiException) as refused:
            core.create_namespaced_config_map("here", {"metadata": {"name": "one"}})
        assert refused.value.status == 409
        assert len(core.list_namespaced_config_map("here").items) == 1
        core.delete_collection_namespaced_config_map("here")
        assert core.list_namespaced_config_map("here").items == []
