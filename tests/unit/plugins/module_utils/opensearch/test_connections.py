"""The connections to a cluster, against real sockets: a proxy, and port-forward in the API's own protocol."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import (
    Denied,
    NoConnection,
    Refusal,
    Unreachable,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.client import connect as connect_kubernetes
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.answering import wait_for_answers
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.client import connect
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.common.proxy_server import proxying
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.forwarding_api import (
    ForwardingApi,
    forwarding,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.tls_server import NAME, member

PATH = "/_cluster/settings"
VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_http_is_forwarded_plainly_by_the_proxy(tmp_path: Path) -> None:
    with member(tmp_path, tls=False) as server, proxying(server.port) as proxy:
        client = connect({"hosts": [f"http://{NAME}:9200"], "proxy": proxy.url})
        assert client.get(PATH, flat_settings="true")["path"] == f"{PATH}?flat_settings=true"
        assert proxy.asked == [("GET", f"http://{NAME}:9200{PATH}?flat_settings=true")]


def test_https_goes_through_a_tunnel_and_is_verified_against_the_cluster(tmp_path: Path) -> None:
    with member(tmp_path, tls=True) as server, proxying(server.port) as proxy:
        given = {"ca_cert": server.authority, "proxy": proxy.url.replace("//", "//me:se%20cret@")}
        client = connect({"hosts": [f"https://{NAME}:9200"], **given})
        assert [client.get(PATH)["path"] for _time in range(2)] == [PATH] * 2
        assert proxy.asked == [("CONNECT", f"{NAME}:9200")], "one connection for both requests"
        assert proxy.credentials == ["Basic bWU6c2UgY3JldA=="]
        with pytest.raises(Refusal) as caught:
            connect({"hosts": ["https://other.example.com:9200"], **given}).get(PATH)
        assert caught.value.verdict.reasons[0].code == "opensearch_certificate"


@pytest.mark.parametrize("tls", [True, False])
def test_the_certificate_of_a_proxy_is_verified_like_that_of_the_cluster(tmp_path: Path, tls: bool) -> None:
    with member(tmp_path, tls=True) as secure, member(tmp_path, tls=False) as plain:
        authority, server = secure.authority, secure if tls else plain
        with proxying(server.port, certificate=authority) as proxy:
            options = {"hosts": [f"http{'s' * tls}://{NAME}:9200"], "proxy": proxy.url}
            assert connect({**options, "ca_cert": authority}).get(PATH)["path"] == PATH
            assert connect({**options, "validate_certs": False}).get(PATH)["path"] == PATH
            asked = len(proxy.asked)
            with pytest.raises(Refusal):
                connect(options).get(PATH)
            assert len(proxy.asked) == asked


def test_the_environment_says_the_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with member(tmp_path, tls=True) as server, proxying(server.port) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        client = connect({"hosts": [f"https://{NAME}:9200"], "ca_cert": server.authority})
        assert client.get(PATH)["path"] == PATH
        assert proxy.asked == [("CONNECT", f"{NAME}:9200")]


@pytest.mark.parametrize("end", ["", "/", "/search", "/search/"])
def test_a_url_without_a_port_has_the_port_that_clients_of_the_product_take(tmp_path: Path, end: str) -> None:
    path = f"{end.rstrip('/')}{PATH}"
    with member(tmp_path, tls=False) as server, proxying(server.port) as proxy:
        assert connect({"hosts": [f"HTTP://{NAME}{end}"], "proxy": proxy.url}).get(PATH)["path"] == path
        assert proxy.asked == [("GET", f"http://{NAME}:9200{path}")]
    with member(tmp_path, tls=True) as server, proxying(server.port) as proxy:
        options = {"hosts": [f"https://{NAME}{end}"], "ca_cert": server.authority, "proxy": proxy.url}
        assert connect(options).get(PATH)["path"] == path
        assert proxy.asked == [("CONNECT", f"{NAME}:443")]


def test_a_host_is_spared_by_a_port_that_its_url_leaves_out() -> None:
    options = {"hosts": [f"https://{NAME}", "https://[2001:db8::1]"], "proxy": "http://127.0.0.1:9"}
    assert connect(options).proxy is not None
    assert connect({**options, "no_proxy": f"{NAME}:443,2001:db8::1"}).proxy is None


@pytest.mark.parametrize("said", ["option", "environment", "this machine"])
def test_what_is_spared_is_reached_directly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    with member(tmp_path, tls=False) as server, proxying(server.port) as proxy:
        options: dict[str, Any] = {"hosts": [f"http://127.0.0.1:{server.port}"], "proxy": proxy.url}
        if said == "option":
            options["no_proxy"] = "127.0.0.0/8"
        elif said == "environment":
            monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        else:
            monkeypatch.setenv("HTTP_PROXY", options.pop("proxy"))
        assert connect(options).get(PATH)["path"] == PATH
        assert proxy.asked == []


@pytest.mark.parametrize("scheme", ["https", "http"])
def test_a_proxy_that_refuses_is_named_without_the_password(tmp_path: Path, scheme: str) -> None:
    with member(tmp_path, tls=scheme == "https") as server, proxying(server.port, refuses=407) as proxy:
        url = proxy.url.replace("//", "//me:secret@")
        client = connect({"hosts": [f"{scheme}://{NAME}:9200"], "proxy": url})
        with pytest.raises(Denied) as caught:
            client.get(PATH)
        assert caught.value.verdict.reasons[0].code == "proxy_refuses"
        assert str(caught.value) == (
            f"The proxy {proxy.url} refuses access to {scheme}://{NAME}:9200: it answers 407 (Proxy Authentication"
            " Required). Write a user and a password that it takes into its URL (opensearch.proxy), or leave it out for"
            " this host (NO_PROXY, opensearch.no_proxy)."
        )


def test_a_proxy_that_is_not_there_or_has_no_way_is_named(tmp_path: Path) -> None:
    options: dict[str, Any] = {"hosts": [f"https://{NAME}:9200"], "proxy": "http://127.0.0.1:9"}
    with pytest.raises(
        NoConnection, match=rf"The proxy http://127\.0\.0\.1:9 to https://{NAME}:9200 cannot be reached"
    ):
        connect(options).get(PATH)
    with proxying(9, refuses=503) as proxy, pytest.raises(Unreachable, match=r"cannot reach .*: it answers 503"):
        connect({**options, "proxy": proxy.url}).get(PATH)


def test_a_proxy_of_another_kind_is_refused() -> None:
    with pytest.raises(Refusal, match="a proxy of the kind socks5 is not supported") as caught:
        connect({"hosts": [f"https://{NAME}:9200"], "proxy": "socks5://me:secret@p:1"})
    assert caught.value.verdict.reasons[0].code == "opensearch_connection_options"


@pytest.fixture
def api() -> Iterator[ForwardingApi]:
    with forwarding() as api:
        yield api


def forwarded(api: ForwardingApi, authority: str = "", host: str = f"http://{NAME}", **more: Any) -> dict[str, Any]:
    options = {"hosts": [f"{host}:9200"], "ca_cert": authority or None, "request_timeout": 5}
    return {"port_forward": {"namespace": "search", "service": "opensearch", "port": 9200}, **options, **more}


def reach(api: ForwardingApi, options: dict[str, Any]) -> Any:
    return connect(options, {"host": api.url, "api_key": "token", "request_timeout": 5})


def test_tls_through_the_kubernetes_api_is_verified_against_the_name_of_the_cluster(
    tmp_path: Path, api: ForwardingApi
) -> None:
    with member(tmp_path, tls=True) as server:
        api.ready("data-0", server.port)
        client = reach(api, forwarded(api, server.authority, f"https://{NAME}"))
        assert [client.get(PATH)["port"] for _time in range(3)] == [server.port] * 3
        assert api.forwarded == ["data-0"], "one connection for all requests"
        other = reach(api, forwarded(api, server.authority, "https://other.example.com"))
        with pytest.raises(Refusal) as caught:
            other.get(PATH)
        assert caught.value.verdict.reasons[0].code == "opensearch_certificate"


def test_a_pod_that_goes_away_is_replaced_by_another_ready_one(tmp_path: Path, api: ForwardingApi) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with member(tmp_path / "two", tls=False) as second:
        with member(tmp_path / "one", tls=False) as first:
            api.ready("data-0", first.port)
            api.ready("data-1", second.port)
            client = reach(api, forwarded(api))
            assert client.get(PATH)["port"] == first.port
            api.unready("data-0")
            api.cut()
        assert client.get(PATH)["port"] == second.port
        # It says that it is Ready, and nothing listens: as in the seconds before its probe fails.
        api.ready("data-0", first.port)
        api.cut()
        assert client.get(PATH)["port"] == second.port
        assert api.forwarded[-1] == "data-1"


def test_no_ready_pod_is_waited_for(api: ForwardingApi) -> None:
    with pytest.raises(
        Unreachable, match=r"No Ready pod is behind port 9200 of service opensearch in namespace search"
    ):
        reach(api, forwarded(api)).get(PATH)


def test_a_missing_right_is_named(tmp_path: Path, api: ForwardingApi) -> None:
    api.ready("data-0", 1)
    api.denied = True
    with pytest.raises(Refusal) as caught:
        reach(api, forwarded(api)).get(PATH)
    (reason,) = caught.value.verdict.reasons
    assert reason.code == "kubernetes_rights"
    assert 'resources: ["pods/portforward"], verbs: ["get", "create"]' in reason.remedy


@pytest.mark.parametrize(
    ("more", "said"),
    [({"service": "other"}, "is not there"), ({"service": "opensearch", "port": 1}, "has no port 1")],
)
def test_a_service_that_leads_nowhere_is_refused(api: ForwardingApi, more: dict[str, Any], said: str) -> None:
    options = {**forwarded(api), "port_forward": {"namespace": "search", **more}}
    with pytest.raises(Refusal, match=said) as caught:
        reach(api, options).get(PATH)
    assert caught.value.verdict.reasons[0].code == "port_forward_target"


def test_pods_by_their_labels_need_no_service(tmp_path: Path, api: ForwardingApi) -> None:
    with member(tmp_path, tls=False) as server:
        api.ready("data-0", server.port)
        labels = {"namespace": "search", "label_selector": "app=opensearch", "port": server.port}
        assert reach(api, forwarded(api, port_forward=labels)).get(PATH)["port"] == server.port


def test_one_pod_is_reached_by_name_ready_or_not(tmp_path: Path, api: ForwardingApi) -> None:
    """A member that has restarted with the other scheme is asked itself, and none of the others."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with member(tmp_path / "one", tls=False) as first, member(tmp_path / "two", tls=True) as second:
        api.ready("data-0", first.port)
        api.ready("data-1", second.port)
        api.unready("data-1")
        there = {"namespace": "search", "service": "opensearch", "port": 9200, "pod": "data-1"}
        options = {**forwarded(api, second.authority, f"https://{NAME}"), "port_forward": there}
        assert reach(api, options).get(PATH)["port"] == second.port
        assert api.forwarded == ["data-1"]
        with pytest.raises(Unreachable):
            reach(api, {**options, "port_forward": {**there, "pod": "data-2"}}).get(PATH)


def test_through_the_kubernetes_api_the_restarted_member_itself_is_asked(tmp_path: Path, api: ForwardingApi) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
    with (
        member(tmp_path / "one", tls=False) as first,
        member(tmp_path / "two", tls=False) as second,
        member(tmp_path / "three", tls=True) as restarted,
    ):
        names = [f"member-{each.port}" for each in (first, second, restarted)]
        for name, each in zip(names, (first, second, restarted), strict=True):
            api.ready(name, each.port)
        after = {"hosts": [f"https://{NAME}:9200"], "ca_cert": restarted.authority}
        kubernetes = {"host": api.url, "api_key": "token", "request_timeout": 5}
        task = Task({"opensearch": {**forwarded(api), "after": after}, "kubernetes": kubernetes, "wait": False})
        assert wait_for_answers(task, [names[2]]).reasons == ()
        (reason,) = wait_for_answers(task, names[1:]).reasons
        assert (reason.code, names[1] in reason.message) == ("not_at_new_address", True)
        assert wait_for_answers(replace(task, check_mode=True), names).reasons == ()
        other = {**after, "hosts": ["https://other.example.com:9200"]}
        wrong = replace(task, params={**task.params, "opensearch": {**forwarded(api), "after": other}})
        with pytest.raises(Refusal) as caught:
            wait_for_answers(wrong, [names[2]])
        assert caught.value.verdict.reasons[0].code == "opensearch_certificate"


def test_the_kubernetes_api_itself_behind_a_proxy(tmp_path: Path, api: ForwardingApi) -> None:
    with member(tmp_path, tls=False) as server, proxying(api.port) as proxy:
        api.ready("data-0", server.port)
        options = {"host": "http://kubernetes.example.com:6443", "api_key": "token", "proxy": proxy.url}
        assert connect_kubernetes(options).list("/api/v1/namespaces/search/pods")
        assert proxy.asked == [("GET", "http://kubernetes.example.com:6443/api/v1/namespaces/search/pods?limit=500")]
        assert connect(forwarded(api), options).get(PATH)["port"] == server.port
        assert ("CONNECT", "kubernetes.example.com:6443") in proxy.asked, "the websocket goes through it too"
