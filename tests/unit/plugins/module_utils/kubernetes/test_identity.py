"""The variables of kubernetes.core, of which none is ignored, and impersonation in every request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.stateful.upgrade.plugins.module_utils.common.arguments import KUBERNETES
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal, Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.access import access
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.client import connect
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.identity import PREFIX, READ, REFUSED
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.common.answering import Api, answering

from tests.lab.certificates import Authority

HOST = {"host": "https://api.example.com", "api_key": "t"}
OF_KUBERNETES_CORE = {
    *("API_KEY", "CONTEXT", "HOST", "KUBECONFIG", "NO_PROXY", "PASSWORD", "PERSIST_CONFIG", "PROXY", "USERNAME"),
    *("CA_CERT", "SSL_CA_CERT", "CERT_FILE", "CLIENT_CERT", "KEY_FILE", "CLIENT_KEY", "VALIDATE_CERTS", "VERIFY_SSL"),
    *("IMPERSONATE_USER", "IMPERSONATE_GROUPS"),
    *("PROXY_HEADERS_BASIC_AUTH", "PROXY_HEADERS_PROXY_BASIC_AUTH", "PROXY_HEADERS_USER_AGENT"),
}
"""Every option of its fragment kubernetes_auth_options in capitals, by its name and by its older one (client.py)."""


@pytest.fixture
def api() -> Iterator[Api]:
    with answering() as server:
        server.say(200, {"kind": "Pod"})
        yield server


def test_every_variable_of_kubernetes_core_is_read_or_refused() -> None:
    options = KUBERNETES["kubernetes"]["options"].values()
    fallbacks = {name for each in options for name in each.get("fallback", (None, []))[1]}
    of_options = {name.removeprefix(PREFIX) for name in fallbacks if name.startswith(PREFIX)}
    assert of_options | READ.keys() | REFUSED.keys() == OF_KUBERNETES_CORE
    assert not of_options & (READ.keys() | REFUSED.keys())


@pytest.mark.parametrize("name", REFUSED)
def test_a_variable_that_is_not_used_is_refused_by_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PREFIX + name, "")
    access(HOST)
    monkeypatch.setenv(PREFIX + name, "very-secret")
    with pytest.raises(Refusal) as caught:
        access(HOST)
    assert PREFIX + name in str(caught.value)
    assert "very-secret" not in str(caught.value)


@pytest.mark.parametrize(("certificate", "key"), [("CERT_FILE", "KEY_FILE"), ("CLIENT_CERT", "CLIENT_KEY")])
def test_a_certificate_of_the_environment(
    certificate: str, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = Authority("ours").issue("me"), Authority("theirs").issue("me")
    (tmp_path / "c.pem").write_bytes(mine.certificate)
    (tmp_path / "k.pem").write_bytes(mine.key)
    monkeypatch.setenv(PREFIX + certificate, str(tmp_path / "c.pem"))
    monkeypatch.setenv(PREFIX + key, str(tmp_path / "k.pem"))
    assert access(HOST)._configuration.cert_file == str(tmp_path / "c.pem")
    (tmp_path / "k.pem").write_bytes(other.key)
    with pytest.raises(Refusal, match=r"k\.pem \(K8S_AUTH_KEY_FILE\): it is not the key of .*c\.pem \(K8S_AUTH_CERT"):
        access(HOST)


def impersonating(tmp_path: Path, url: str, **user: Any) -> dict[str, Any]:
    content = {
        "current-context": "upgrades",
        "clusters": [{"name": "search", "cluster": {"server": url}}],
        "contexts": [{"name": "upgrades", "context": {"cluster": "search", "user": "upgrader"}}],
        "users": [{"name": "upgrader", "user": {"token": "not-a-real-token", **user}}],
    }
    (tmp_path / "config").write_text(yaml.safe_dump(content))
    return {"kubeconfig": str(tmp_path / "config")}


class Raw:
    """The header lines of each request, of which a dictionary would keep one of a name."""

    def __init__(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lines: list[list[tuple[str, str]]] = []
        handler: Any = api.server.RequestHandlerClass
        answer = handler._answer

        def noted(server: Any) -> None:
            self.lines.append([each for each in server.headers.items() if each[0].startswith("Impersonate")])
            answer(server)

        for method in ("GET", "POST", "PATCH", "DELETE"):
            monkeypatch.setattr(handler, f"do_{method}", noted)


def test_every_request_is_made_in_the_place_of_the_user(
    api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = Raw(api, monkeypatch)
    client = connect(impersonating(tmp_path, api.url, **{"as": "stateful-upgrade", "as-groups": ["a", "b"]}))
    client.get("/api/v1/namespaces/search/pods/p")
    client.post("/api/v1/namespaces/search/pods", {})
    client.patch("/api/v1/namespaces/search/pods/p", {})
    client.delete("/api/v1/namespaces/search/pods/p", "uid")
    with pytest.raises((Refusal, Unreachable)):
        client.websocket("/api/v1/namespaces/search/pods/p/exec", {}, "v5.channel.k8s.io")
    expected = [
        ("Impersonate-User", "stateful-upgrade"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
    ]
    assert raw.lines == [expected] * 5
    assert {headers["authorization"] for _m, _p, headers, _b in api.asked} == {"Bearer not-a-real-token"}


def test_the_environment_goes_before_the_kubeconfig(api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("K8S_AUTH_IMPERSONATE_GROUPS", "x, y")
    with pytest.raises(Refusal, match="K8S_AUTH_IMPERSONATE_USER"):
        access(HOST)
    monkeypatch.setenv("K8S_AUTH_IMPERSONATE_USER", "night")
    expected = (("Impersonate-User", "night"), ("Impersonate-Group", "x"), ("Impersonate-Group", "y"))
    given = access(impersonating(tmp_path, api.url, **{"as": "stateful-upgrade"}))
    assert (given.impersonated, access(HOST).impersonated) == (expected, expected)


@pytest.mark.parametrize(
    "said",
    [
        'users "night" is forbidden: User "me" cannot impersonate resource "users" in API group "" at the cluster'
        " scope",
        'pods "p" is forbidden: User "me" cannot impersonate-on:user-info:get resource "pods" in API group "" in the'
        ' namespace "search"',
    ],
)
def test_a_user_who_may_not_impersonate_is_told_so(api: Api, tmp_path: Path, said: str) -> None:
    api.answers.clear()
    api.say(403, said)
    client = connect(impersonating(tmp_path, api.url, **{"as": "night"}))
    with pytest.raises(Refusal) as caught:
        client.get("/api/v1/namespaces/search/pods/p")
    (reason,) = caught.value.verdict.reasons
    assert reason.code == "kubernetes_impersonation"
    assert 'resources: ["users"], verbs: ["impersonate"]' in reason.remedy
    assert 'resources: ["users"], verbs: ["impersonate"]' in str(caught.value)
