"""TLS with the API server, with certificates that come out of a kubeconfig; and no key stays behind in a file."""

from __future__ import annotations

import base64
import ipaddress
import ssl
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Denied, Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.client import connect
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.common.proxy_server import proxying
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from kubernetes import client as client_library
from kubernetes import config

POD = "/api/v1/namespaces/search/pods/data-2"


@dataclass(frozen=True)
class Identity:
    """A self-signed certificate for 127.0.0.1 and its key, as PEM."""

    certificate: bytes
    key: bytes


def identity(name: str) -> Identity:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(timezone.utc)
    builder = x509.CertificateBuilder(
        subject,
        subject,
        key.public_key(),
        x509.random_serial_number(),
        now - timedelta(days=1),
        now + timedelta(days=1),
    )
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    builder = builder.add_extension(address, critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    certificate = builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)
    return Identity(certificate, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_args: object) -> None:
        pass

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"kind": "Pod"}')


@dataclass(frozen=True)
class Server:
    """An API server that wants a client certificate, and the two identities."""

    url: str
    own: Identity
    client: Identity


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder, own, client = tmp_path_factory.mktemp("server"), identity("server"), identity("client")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    (folder / "server.pem").write_bytes(own.certificate + own.key)
    context.load_cert_chain(folder / "server.pem")
    context.load_verify_locations(cadata=client.certificate.decode())
    context.verify_mode = ssl.CERT_REQUIRED
    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.socket = context.wrap_socket(listener.socket, server_side=True)
    listener.handle_error = lambda *_args: None  # type: ignore[method-assign]
    threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield Server(f"https://127.0.0.1:{listener.server_port}", own, client)
    listener.shutdown()
    listener.server_close()


def kubeconfig(folder: Path, server: Server, authority: Identity | None, client: Identity | None) -> str:
    user = {"client-certificate-data": client.certificate, "client-key-data": client.key} if client else {}
    trust = {"certificate-authority-data": authority.certificate} if authority else {}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "lab",
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "me"}}],
        "clusters": [{"name": "lab", "cluster": {"server": server.url, **_encoded(trust)}}],
        "users": [{"name": "me", "user": _encoded(user)}],
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    return str(path)


def _encoded(data: dict[str, bytes]) -> dict[str, str]:
    return {name: base64.b64encode(value).decode() for name, value in data.items()}


def test_certificates_of_a_kubeconfig(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    file = kubeconfig(tmp_path, server, server.own, server.client)
    for _item_of_a_loop in range(2):
        client = connect({"kubeconfig": file})
        assert list(temporary.iterdir()) == []
        assert client.get(POD) == {"kind": "Pod"}


def test_files_of_other_clients_in_the_process_stay(server: Server, tmp_path: Path) -> None:
    """A worker is forked from a process in which others may hold clients of their own."""
    file = kubeconfig(tmp_path, server, server.own, server.client)
    other = client_library.Configuration()
    config.load_kube_config(config_file=file, client_configuration=other)
    assert connect({"kubeconfig": file}).get(POD) == {"kind": "Pod"}
    for path in (other.ssl_ca_cert, other.cert_file, other.key_file):
        assert path is not None
        assert Path(path).exists()


def test_a_server_that_is_not_trusted(server: Server, tmp_path: Path) -> None:
    client = connect({"kubeconfig": kubeconfig(tmp_path, server, server.client, server.client)})
    with pytest.raises(Refusal) as caught:
        client.get(POD)
    assert caught.value.verdict.reasons[0].code == "kubernetes_certificate"
    assert "ca_cert" in str(caught.value)


def test_a_ca_file_goes_before_the_kubeconfigs(server: Server, tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(server.own.certificate)
    file = kubeconfig(tmp_path, server, None, server.client)
    assert connect({"kubeconfig": file, "ca_cert": str(tmp_path / "ca.crt")}).get(POD) == {"kind": "Pod"}


def test_the_check_can_be_turned_off(server: Server, tmp_path: Path) -> None:
    file = kubeconfig(tmp_path, server, None, server.client)
    assert connect({"kubeconfig": file, "validate_certs": False}).get(POD) == {"kind": "Pod"}


def test_a_client_without_the_certificate_that_is_asked_for(server: Server, tmp_path: Path) -> None:
    client = connect({"kubeconfig": kubeconfig(tmp_path, server, server.own, None)})
    with pytest.raises(Refusal) as caught:
        client.get(POD)
    (reason,) = caught.value.verdict.reasons
    # The connection may be gone before its alert is read.
    assert reason.code == "kubernetes_unreachable" or "give in the kubeconfig one that it accepts" in reason.remedy


@pytest.mark.parametrize("asks", ["object", "websocket"])
def test_a_proxy_that_refuses_is_named_and_not_the_api_server(server: Server, tmp_path: Path, asks: str) -> None:
    file = kubeconfig(tmp_path, server, server.own, server.client)
    with proxying(9, refuses=403) as proxy:
        client = connect({"kubeconfig": file, "proxy": proxy.url})
        with pytest.raises(Denied) as caught:
            client.get(POD) if asks == "object" else client.websocket(f"{POD}/exec", {}, "v5.channel.k8s.io")
    assert caught.value.verdict.reasons[0].code == "proxy_refuses"
    assert f"The proxy {proxy.url} refuses access to {server.url}: it answers 403 (Forbidden)." in str(caught.value)
    assert f"Have it allow CONNECT to {server.url}, or leave it out for this host (NO_PROXY, kubernetes" in str(
        caught.value
    )


def test_tls_goes_through_a_proxy_and_is_verified_as_ever(server: Server, tmp_path: Path) -> None:
    file = kubeconfig(tmp_path, server, server.own, server.client)
    with proxying(int(server.url.rpartition(":")[2])) as proxy:
        assert connect({"kubeconfig": file, "proxy": proxy.url}).get(POD) == {"kind": "Pod"}
        assert proxy.asked == [("CONNECT", server.url.removeprefix("https://"))]
