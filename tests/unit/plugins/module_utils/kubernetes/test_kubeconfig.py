"""Everything that a kubeconfig can hold: each works as with kubectl, or is refused by its name and that of its file."""

from __future__ import annotations

import base64
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.access import Access, access
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.identity import PREFIX
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.kubeconfig import choose
from cryptography.hazmat.primitives import serialization
from kubernetes.config import kube_config

from tests.lab.certificates import Authority, Identity

Json = dict[str, Any]
AUTHORITY = Authority("of the cluster")
MINE, OTHER = AUTHORITY.issue("me"), AUTHORITY.issue("someone else")
SERVER = "https://api.example.com:6443"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, no variable that counts, and a temporary folder of its own."""
    for name in list(os.environ):
        if name.startswith(PREFIX) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path


def written(path: Path, user: Json | None = None, cluster: Json | None = None, current: str = "lab", **top: Any) -> str:
    content: Json = {
        "current-context": current,
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "me"}}],
        "clusters": [{"name": "lab", "cluster": {"server": SERVER, **(cluster or {})}}],
        "users": [{"name": "me", "user": user or {}}],
        **top,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump({key: value for key, value in content.items() if value is not None}))
    return str(path)


def data(content: bytes) -> str:
    return base64.b64encode(content).decode()


def jwt(**claims: Any) -> str:
    return f"e30.{base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip('=')}.c2ln"


def identified(given: Access) -> bool:
    """Whether a client certificate was loaded, which is done before its file is removed."""
    return bool(given._configuration.cert_file)


def authorities(given: Access) -> int:
    return len(given.pool.connection_pool_kw["ssl_context"].get_ca_certs())


def token(given: Access) -> str:
    return given.headers().get("authorization", "")


def put(folder: Path, name: str, content: bytes) -> str:
    (folder / name).write_bytes(content)
    return name


def plugin(folder: Path, status: Json) -> Json:
    """A credential plugin next to the kubeconfig, by a path that is relative to that."""
    said = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    script = folder / "login"
    script.write_text(f"#!{sys.executable}\nprint({json.dumps(said)!r})\n")
    script.chmod(0o700)
    return {"exec": {"apiVersion": said["apiVersion"], "command": "./login", "interactiveMode": "Never"}}


WORKS: dict[str, tuple[Callable[[Path], tuple[Json, Json]], Callable[[Access], Any], Any]] = {
    "token": (lambda _: ({"token": "t"}, {}), token, "Bearer t"),
    "tokenFile": (
        lambda here: ({"tokenFile": put(here, "token", b"of-file\n"), "token": "old"}, {}),
        token,
        "Bearer of-file",
    ),
    "username and password": (
        lambda _: ({"username": "me", "password": "secret"}, {}),
        token,
        f"Basic {data(b'me:secret')}",
    ),
    "exec with a token": (lambda here: (plugin(here, {"token": "minted"}), {}), token, "Bearer minted"),
    "exec with a certificate": (
        lambda here: (
            plugin(
                here,
                {"clientCertificateData": MINE.certificate.decode(), "clientKeyData": MINE.key.decode()},
            ),
            {},
        ),
        identified,
        True,
    ),
    "auth-provider oidc": (
        lambda _: ({"auth-provider": {"name": "oidc", "config": {"id-token": jwt(sub="me")}}}, {}),
        token,
        f"Bearer {jwt(sub='me')}",
    ),
    "auth-provider gcp with a token": (
        lambda _: ({"auth-provider": {"name": "gcp", "config": {"access-token": "g"}}}, {}),
        token,
        "Bearer g",
    ),
    "certificates in files": (
        lambda here: (
            {"client-certificate": put(here, "c.pem", MINE.certificate), "client-key": put(here, "k.pem", MINE.key)},
            {"certificate-authority": put(here, "ca.pem", AUTHORITY.certificate)},
        ),
        lambda given: (identified(given), authorities(given)),
        (True, 1),
    ),
    "certificates as data": (
        lambda _: (
            {"client-certificate-data": data(MINE.certificate), "client-key-data": data(MINE.key)},
            {"certificate-authority-data": data(AUTHORITY.certificate)},
        ),
        lambda given: (identified(given), authorities(given)),
        (True, 1),
    ),
    "proxy-url": (
        lambda _: ({}, {"proxy-url": "http://proxy.example.com:3128"}),
        lambda given: str(given.pool.proxy),
        "http://proxy.example.com:3128",
    ),
    "tls-server-name": (
        lambda _: ({}, {"tls-server-name": "inside"}),
        lambda given: given.pool.connection_pool_kw["server_hostname"],
        "inside",
    ),
    "insecure-skip-tls-verify": (
        lambda _: ({}, {"insecure-skip-tls-verify": True}),
        lambda given: given.pool.connection_pool_kw["ssl_context"].verify_mode.name,
        "CERT_NONE",
    ),
    "impersonation": (
        lambda _: (
            {
                "token": "t",
                "as": "stateful-upgrade",
                "as-uid": "u1",
                "as-groups": ["upgraders", "readers"],
                "as-user-extra": {"example.com/Reason": ["night", "łódź"]},
            },
            {},
        ),
        lambda given: [*given.impersonated],
        [
            ("Impersonate-User", "stateful-upgrade"),
            ("Impersonate-Uid", "u1"),
            ("Impersonate-Group", "upgraders"),
            ("Impersonate-Group", "readers"),
            ("Impersonate-Extra-example.com%2FReason", "night"),
            ("Impersonate-Extra-example.com%2FReason", "łódź".encode().decode("latin-1")),
        ],
    ),
}


@pytest.mark.parametrize("holds", WORKS)
def test_it_works(holds: str, folder: Path) -> None:
    made, seen, expected = WORKS[holds]
    user, cluster = made(folder)
    assert seen(access({"kubeconfig": written(folder / "config", user, cluster)})) == expected
    assert list((folder / "temporary").iterdir()) == []


def encrypted(identity: Identity) -> bytes:
    key = serialization.load_pem_private_key(identity.key, None)
    how = serialization.BestAvailableEncryption(b"passphrase")
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, how)


def with_key(content: bytes) -> Json:
    return {"client-certificate-data": data(MINE.certificate), "client-key-data": data(content)}


REFUSED: dict[str, tuple[Callable[[Path], tuple[Json, Json]], str]] = {
    "a key with a passphrase": (
        lambda _: (with_key(encrypted(MINE)), {}),
        "client-key-data of user me in {file}: the key is encrypted, and no passphrase is asked for.",
    ),
    "a key in a file with a passphrase": (
        lambda here: (
            {
                "client-certificate": put(here, "c.pem", MINE.certificate),
                "client-key": put(here, "k.pem", encrypted(MINE)),
            },
            {},
        ),
        "client-key of user me, {folder}/k.pem, in {file}: the key is encrypted",
    ),
    "the key of another": (
        lambda _: (with_key(OTHER.key), {}),
        "client-key-data of user me in {file}: it is not the key of client-certificate-data of user me in {file}.",
    ),
    "a key that is none": (
        lambda _: (with_key(b"nothing"), {}),
        "client-key-data of user me in {file}: it holds no private key in PEM.",
    ),
    "a certificate that is none": (
        lambda _: ({"client-certificate-data": data(b"nothing"), "client-key-data": data(MINE.key)}, {}),
        "client-certificate-data of user me in {file}: it holds no certificate in PEM.",
    ),
    "a certificate without its key": (
        lambda _: ({"client-certificate-data": data(MINE.certificate)}, {}),
        "client-certificate-data of user me in {file}: its key is missing.",
    ),
    "an authority that is none": (
        lambda here: ({}, {"certificate-authority": put(here, "ca.pem", b"nothing")}),
        "certificate-authority of cluster lab, {folder}/ca.pem, in {file}: it holds no certificate in PEM.",
    ),
    "a file that is missing": (
        lambda _: ({}, {"certificate-authority": "/missing/ca.pem"}),
        "{file} cannot be used: certificate-authority of cluster lab names /missing/ca.pem, which cannot be read (No"
        " such file or directory).",
    ),
    "data that are not base64": (
        lambda _: ({}, {"certificate-authority-data": "=?"}),
        "{file} cannot be used: certificate-authority-data of cluster lab is not in base64.",
    ),
    "a text where a flag belongs": (
        lambda _: ({}, {"insecure-skip-tls-verify": "false"}),
        "{file} cannot be used: insecure-skip-tls-verify of cluster lab is neither true nor false.",
    ),
    "a token of digits": (
        lambda _: ({"token": 12345}, {}),
        "{file} cannot be used: token of user me is no text; put it between quotes.",
    ),
    "a cluster without a server": (
        lambda _: ({}, {"server": None}),
        "{file} cannot be used: cluster lab has no server.",
    ),
    "an auth-provider that is gone": (
        lambda _: ({"auth-provider": {"name": "azure", "config": {}}}, {}),
        "{file} cannot be used: auth-provider azure of user me is not supported. Use a credential plugin (exec)",
    ),
    "oidc without a token that is one": (
        lambda _: ({"auth-provider": {"name": "oidc", "config": {"id-token": "x"}}}, {}),
        "{file} cannot be used: auth-provider of user me gives no token: it has none that is valid.",
    ),
    "gcp without a token": (
        lambda _: ({"auth-provider": {"name": "gcp", "config": {"cmd-path": "/missing/gcloud"}}}, {}),
        "{file} cannot be used: auth-provider of user me gives no token (",
    ),
    "groups without a user": (
        lambda _: ({"token": "t", "as-groups": ["upgraders"]}, {}),
        "The impersonation of user me in the kubeconfig {file} names no user",
    ),
    "groups that are no list": (
        lambda _: ({"token": "t", "as": "me", "as-groups": "upgraders"}, {}),
        "{file} cannot be used: as-groups of user me is no list of texts.",
    ),
    "a user with a line break": (
        lambda _: ({"token": "t", "as": "me\nImpersonate-Group: system:masters"}, {}),
        "names something with a line break",
    ),
}


def refused(options: Json) -> str:
    with pytest.raises(Refusal) as caught:
        access(options)
    assert list((Path(tempfile.gettempdir())).iterdir()) == []
    return str(caught.value)


@pytest.mark.parametrize("holds", REFUSED)
def test_it_is_refused_by_name(holds: str, folder: Path) -> None:
    made, expected = REFUSED[holds]
    user, cluster = made(folder)
    said = refused({"kubeconfig": written(folder / "config", user, cluster)})
    assert expected.format(file=folder / "config", folder=folder) in said


CONTENTS = {
    "- a list": "it is no mapping, as a kubeconfig is",
    "users: [": "it is not valid YAML (line 2)",
    "users: {a: b}": "its users are no list",
    "contexts: [{name: a, context: x}]": "context a is no mapping",
    "clusters: [{name: a}, {name: a}]": "it has two clusters of the name a",
    "users: [{}]": "entry 1 of its users has no name",
    "": "it has no current-context, and kubernetes.context is not given",
}


@pytest.mark.parametrize("content", CONTENTS)
def test_of_several_files_the_one_at_fault_is_named(content: str, folder: Path) -> None:
    (folder / "second").write_text(f"{content}\n")
    first = written(folder / "first")
    whole = f"{first}{os.pathsep}{folder / 'second'}"
    if content:
        assert f"The kubeconfig {folder / 'second'} cannot be used: {CONTENTS[content]}." in refused(
            {"kubeconfig": whole}
        )
    else:
        assert access({"kubeconfig": whole}).host == SERVER
        assert CONTENTS[content] in refused({"kubeconfig": str(folder / "second")})


def test_of_several_files_the_first_counts_for_each_name_and_for_the_context(folder: Path) -> None:
    """As with kubectl; the package takes the context of the last file, which is another cluster."""
    theirs = {"name": "theirs", "cluster": {"server": "https://theirs.example.com"}}
    contexts = [{"name": "there", "context": {"cluster": "theirs", "user": "me"}}]
    first = written(folder / "a" / "config", clusters=None, users=None)
    put(folder, "token", b"of-c")
    second = written(folder / "c" / "config", {"tokenFile": "../token"})
    last = written(folder / "b" / "config", {"token": "of-b"}, clusters=[theirs], contexts=contexts, current="there")
    whole = os.pathsep.join([str(folder / "missing"), first, second, last])
    given = access({"kubeconfig": whole})
    assert (given.host, token(given)) == (SERVER, "Bearer of-c")
    assert access({"kubeconfig": whole, "context": "there"}).host == "https://theirs.example.com"
    assert access({"kubeconfig": "~/a/config:~/c/config"}).host == SERVER
    assert "it has no context x; there is lab, there." in refused({"kubeconfig": whole, "context": "x"})
    assert "has no user me of context lab, and no users at all" in refused(
        {"kubeconfig": written(folder / "d", users=[])}
    )


def test_a_token_file_is_read_again(folder: Path) -> None:
    put(folder, "token", b"first")
    given = access({"kubeconfig": written(folder / "config", {"tokenFile": "token"})})
    put(folder, "token", b"second")
    assert token(given) == "Bearer second"
    (folder / "token").unlink()
    assert token(given) == "Bearer second"


def test_a_token_that_was_renewed_is_written_into_its_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An OIDC server takes a refresh token once, so that the old one in the file would be of no use."""
    user = {"auth-provider": {"name": "oidc", "config": {"id-token": jwt(exp=1), "refresh-token": "once"}}}
    file = written(folder / "config", user)
    loader = kube_config.KubeConfigLoader

    def renew(_self: Any, provider: Any) -> None:
        provider["config"].value.update({"id-token": jwt(sub="new"), "refresh-token": "twice"})

    monkeypatch.setattr(loader, "_refresh_oidc", renew)
    assert token(access({"kubeconfig": file})) == f"Bearer {jwt(sub='new')}"
    assert (
        yaml.safe_load(Path(file).read_text())["users"][0]["user"]["auth-provider"]["config"]["refresh-token"]
        == "twice"
    )
    file = written(folder / "config", user)
    monkeypatch.setenv("K8S_AUTH_PERSIST_CONFIG", "false")
    assert token(access({"kubeconfig": file})) == f"Bearer {jwt(sub='new')}"
    assert "once" in Path(file).read_text()


def test_a_kubeconfig_with_a_renewed_token_takes_the_place_of_the_old_one_at_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, link = folder / "real", folder / "link"
    written(place, {"auth-provider": {"name": "oidc", "config": {"id-token": "old"}}})
    place.chmod(0o640)
    link.symlink_to(place)
    before = place.read_text()
    chosen = choose(str(link), None, needs_user=True)
    chosen.user.content["auth-provider"]["config"]["id-token"] = "renewed"
    with monkeypatch.context() as full:
        full.setattr(os, "replace", raise_full)
        with pytest.raises(OSError, match="full"):
            chosen.save()
    assert place.read_text() == before
    chosen.save()
    assert yaml.safe_load(place.read_text())["users"][0]["user"]["auth-provider"]["config"] == {"id-token": "renewed"}
    assert (place.stat().st_mode & 0o777, link.is_symlink()) == (0o640, True)
    assert {each.name for each in folder.iterdir()} == {"real", "link", "temporary"}


def raise_full(*_paths: object) -> None:
    raise OSError(28, "the disk is full")
