"""The address of the API and the credentials for it, from kubeconfigs and options."""

from __future__ import annotations

import base64
import datetime
import ssl
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.access import access
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.tls_server import member
from kubernetes.config import incluster_config

from tests.lab.certificates import Authority

Json = dict[str, Any]


@pytest.fixture(autouse=True)
def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without a kubeconfig, outside any pod, with a temporary folder of its own."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    (tmp_path / "home").mkdir()
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))


def kubeconfig(path: Path, user: Json, cluster: Json | None = None) -> str:
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "lab",
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "me"}}],
        "clusters": [{"name": "lab", "cluster": {"server": "https://api.example.com:6443", **(cluster or {})}}],
        "users": [{"name": "me", "user": user}],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(content))
    return str(path)


def refusal_code(options: Json) -> tuple[str, str]:
    with pytest.raises(Refusal) as caught:
        access(options)
    return caught.value.verdict.reasons[0].code, str(caught.value)


def test_host_and_token_need_no_kubeconfig() -> None:
    given = access({"host": "api.example.com:6443", "api_key": "token\n"})
    assert given.host == "https://api.example.com:6443"
    assert given.headers() == {"authorization": "Bearer token"}


def test_host_and_token_go_before_those_of_the_kubeconfig(tmp_path: Path) -> None:
    file = kubeconfig(tmp_path / "config", {"token": "theirs"})
    assert access({"kubeconfig": file}).headers() == {"authorization": "Bearer theirs"}
    given = access({"kubeconfig": file, "host": "https://other.example.com/", "api_key": "mine"})
    assert (given.host, given.headers()) == ("https://other.example.com", {"authorization": "Bearer mine"})


def test_the_users_own_kubeconfig_is_found(tmp_path: Path) -> None:
    kubeconfig(tmp_path / "home" / ".kube" / "config", {"token": "own"})
    assert access({}).headers() == {"authorization": "Bearer own"}


def test_nothing_says_where_the_api_is() -> None:
    assert refusal_code({})[0] == "kubernetes_not_configured"


def test_a_pods_service_account_that_is_not_mounted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    code, said = refusal_code({})
    assert code == "kubernetes_configuration"
    assert "token" in said


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pod whose service account is mounted, at another place than in a pod; gives the file of its token."""
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    token, authority = tmp_path / "token", tmp_path / "ca.crt"
    token.write_text("first")
    authority.write_bytes(Authority("of the cluster").certificate)
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(authority))
    return token


def test_a_pod_uses_its_service_account(account: Path) -> None:
    given = access({})
    assert (given.host, given.headers()) == ("https://[fd00::1]:443", {"authorization": "bearer first"})
    context = given.pool.connection_pool_kw["ssl_context"]
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert [dict(each[0] for each in found["subject"])["commonName"] for found in context.get_ca_certs()] == [
        "of the cluster"
    ]


def test_a_token_that_kubernetes_has_replaced_is_read_again(account: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock(datetime.datetime):
        passed = datetime.timedelta()

        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return cls(2026, 1, 1, tzinfo=tz) + cls.passed

    clock = SimpleNamespace(datetime=Clock, timedelta=datetime.timedelta, timezone=datetime.timezone)
    monkeypatch.setattr(incluster_config, "datetime", clock)
    given = access({})
    account.write_text("second")
    assert given.headers() == {"authorization": "bearer first"}
    Clock.passed = datetime.timedelta(minutes=2)
    assert given.headers() == {"authorization": "bearer second"}


@pytest.mark.parametrize("broken", ["token", "ca.crt"])
def test_a_service_account_that_is_mounted_in_part(account: Path, broken: str) -> None:
    (account.parent / broken).unlink()
    code, said = refusal_code({})
    assert code == "kubernetes_configuration"
    assert said.startswith("The service account of this pod cannot be used: Service ")
    assert "automountServiceAccountToken" in said


@pytest.mark.usefixtures("account")
def test_what_is_given_goes_before_the_service_account() -> None:
    given = access({"host": "https://other.example.com", "api_key": "mine"})
    assert (given.host, given.headers()) == ("https://other.example.com", {"authorization": "Bearer mine"})


def test_a_context_that_does_not_exist(tmp_path: Path) -> None:
    code, said = refusal_code({"kubeconfig": kubeconfig(tmp_path / "config", {}), "context": "production"})
    assert code == "kubernetes_configuration"
    assert "production" in said


def test_a_kubeconfig_that_does_not_exist(tmp_path: Path) -> None:
    code, said = refusal_code({"kubeconfig": str(tmp_path / "missing")})
    assert code == "kubernetes_configuration"
    assert "missing" in said


def test_a_broken_kubeconfig_is_not_quoted(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text("users:\n- user: {token: very-secret\n")
    code, said = refusal_code({"kubeconfig": str(file)})
    assert code == "kubernetes_configuration"
    assert "not valid YAML" in said
    assert "very-secret" not in said


SECRET = "very-secret"
OIDC = {"auth-provider": {"name": "oidc", "config": {"refresh-token": SECRET, "idp-issuer-url": "https://127.0.0.1:1"}}}
EXEC = {"exec": {"args": [SECRET], "env": [{"name": "KEY", "value": SECRET}], "command": None, "apiVersion": "v1"}}


@pytest.mark.parametrize(
    ("users", "code"),
    [
        ([{"name": "me", "user": OIDC}], "kubernetes_configuration"),
        ([{"name": "me", "user": EXEC}], "kubernetes_credential_plugin"),
        ([{"name": None, "user": {"token": SECRET}}], "kubernetes_configuration"),
        ([[{"name": "me", "user": {"token": SECRET}}]], "kubernetes_configuration"),
        ([[SECRET]], "kubernetes_configuration"),
    ],
)
def test_users_in_which_something_is_missing_are_not_quoted(tmp_path: Path, users: Any, code: str) -> None:
    file = Path(kubeconfig(tmp_path / "config", {}))
    file.write_text(yaml.safe_dump({**yaml.safe_load(file.read_text()), "users": users}))
    seen, said = refusal_code({"kubeconfig": str(file)})
    assert seen == code
    assert "config" in said
    assert SECRET not in said


def test_no_character_of_a_password_is_told(tmp_path: Path) -> None:
    code, said = refusal_code({"kubeconfig": kubeconfig(tmp_path / "config", {"username": "me", "password": "\u0142"})})
    assert code == "kubernetes_configuration"
    assert "u0142" not in said
    assert "UnicodeEncodeError" in said


def test_a_server_whose_url_holds_a_password_is_refused_without_it(tmp_path: Path) -> None:
    file = kubeconfig(tmp_path / "config", {}, {"server": "https://me:very-secret@api.example.com"})
    for options in ({"kubeconfig": file}, {"host": "me:very-secret@api.example.com"}):
        code, said = refusal_code(options)
        assert code == "credentials_in_url"
        assert "very-secret" not in said


def test_a_ca_that_is_given_is_asked_for_whatever_the_kubeconfig_says(tmp_path: Path) -> None:
    with member(tmp_path, tls=True) as server:
        there = {"server": f"https://search.example.com:{server.port}", "insecure-skip-tls-verify": True}
        file = kubeconfig(tmp_path / "config", {"token": "t"}, there)
        given = access({"kubeconfig": file, "ca_cert": server.authority})
        context = given.pool.connection_pool_kw["ssl_context"]
        assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
        assert given.judge().reasons == ()
        unverified = [access({"kubeconfig": file})]
        unverified += [access({"kubeconfig": file, "ca_cert": server.authority, "validate_certs": False})]
        for each in unverified:
            assert each.pool.connection_pool_kw["ssl_context"].verify_mode == ssl.CERT_NONE
            assert [reason.code for reason in each.judge().reasons] == ["credentials_unverified"]


def test_a_ca_file_that_does_not_exist() -> None:
    assert refusal_code({"host": "https://api.example.com", "ca_cert": "/missing/ca.crt"})[0] == "kubernetes_ca_missing"


def plugin(tmp_path: Path, script: str) -> str:
    command = tmp_path / "plugin.py"
    command.write_text(script)
    user = {"apiVersion": "client.authentication.k8s.io/v1", "command": sys.executable, "args": [str(command)]}
    return kubeconfig(tmp_path / "config", {"exec": {**user, "interactiveMode": "Never"}})


def test_a_credential_plugin_gives_the_token(tmp_path: Path) -> None:
    credential = '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "x", "status": {"token": "minted"}}'
    file = plugin(tmp_path, f"print('{credential}')")
    assert access({"kubeconfig": file}).headers() == {"authorization": "Bearer minted"}


def test_a_credential_plugin_that_fails_is_named_with_what_it_said(tmp_path: Path) -> None:
    file = plugin(tmp_path, "import sys; sys.exit('login has expired')")
    code, said = refusal_code({"kubeconfig": file})
    assert code == "kubernetes_credential_plugin"
    assert "login has expired" in said


def test_keys_that_cannot_be_read_are_not_left_in_files(tmp_path: Path) -> None:
    data = base64.b64encode(b"not a certificate").decode()
    file = kubeconfig(tmp_path / "config", {"client-certificate-data": data, "client-key-data": data})
    assert refusal_code({"kubeconfig": file})[0] == "kubernetes_configuration"
    assert list((tmp_path / "temporary").iterdir()) == []


def proxy_of(options: Json) -> str | None:
    proxy = getattr(access(options).pool, "proxy", None)
    return str(proxy.url) if proxy is not None else None


@pytest.mark.parametrize(
    ("option", "of_kubeconfig", "environment", "used"),
    [
        (None, None, None, None),
        ("http://option:1", "http://file:1", "http://environment:1", "http://option:1"),
        (None, "http://file:1", "http://environment:1", "http://file:1"),
        (None, None, "http://environment:1", "http://environment:1"),
    ],
)
def test_the_proxy_that_counts(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    option: str | None,
    of_kubeconfig: str | None,
    environment: str | None,
    used: str | None,
) -> None:
    if environment:
        monkeypatch.setenv("HTTPS_PROXY", environment)
    file = kubeconfig(tmp_path / "config", {"token": "t"}, {"proxy-url": of_kubeconfig} if of_kubeconfig else {})
    options = {"kubeconfig": file, "proxy": option}
    assert proxy_of(options) == used
    assert proxy_of({**options, "no_proxy": "other.com, example.com"}) is None
    monkeypatch.setenv("NO_PROXY", ".example.com")
    assert proxy_of(options) is None
    assert proxy_of({**options, "no_proxy": "other.com"}) == used


def test_the_proxy_of_a_host_that_is_given_follows_that_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://environment:1")
    monkeypatch.setenv("NO_PROXY", "other.com")
    file = kubeconfig(tmp_path / "config", {"token": "t"})
    assert proxy_of({"kubeconfig": file, "host": "https://api.other.com"}) is None


def test_a_proxy_that_is_no_url_is_refused_without_its_password() -> None:
    code, said = refusal_code({"host": "https://api.example.com", "proxy": "ftp://me:secret@p"})
    assert code == "kubernetes_configuration"
    assert "secret" not in said
