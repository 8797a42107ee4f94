# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates, tokens and kubeconfig files of one lab; every file here is readable by its owner alone."""

from __future__ import annotations

import base64
import datetime
import ipaddress
import json
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

USERS: dict[str, tuple[str, ...]] = {
    "admin": ("system:masters",),
    "kubelet": ("system:masters",),
    "system:kube-controller-manager": (),
    "system:kube-scheduler": (),
    "upgrader": (),
}
"""Users and their groups. `upgrader` may do nothing until a test binds a role to it."""
LIFETIME = datetime.timedelta(days=30)


@dataclass(frozen=True)
class Credentials:
    """Where the secrets of a lab lie, and the tokens by user."""

    directory: Path
    server: str
    tokens: dict[str, str]

    @property
    def authority(self) -> Path:
        return self.directory / "ca.crt"

    @property
    def certificate(self) -> Path:
        return self.directory / "server.crt"

    @property
    def key(self) -> Path:
        return self.directory / "server.key"

    @property
    def service_account_key(self) -> Path:
        return self.directory / "service-account.key"

    @property
    def service_account_public_key(self) -> Path:
        return self.directory / "service-account.pub"

    @property
    def token_file(self) -> Path:
        return self.directory / "tokens.csv"

    def kubeconfig(self, user: str) -> Path:
        return kubeconfig_path(self.directory, user)


def kubeconfig_path(directory: Path, user: str) -> Path:
    """The kubeconfig file of a user; the components' names lose their prefix."""
    return directory / f"{user.rsplit(':', 1)[-1]}.kubeconfig"


def write_private(path: Path, content: bytes) -> None:
    """Write a file that nobody else may read at any moment."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as handle:
        handle.write(content)


def create(directory: Path, server: str, addresses: Sequence[str]) -> Credentials:
    """Make all secrets of a lab: one server certificate for the API server and the kubelet's log servers."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    tokens = {user: secrets.token_urlsafe(32) for user in USERS}
    credentials = Credentials(directory, server, tokens)
    authority, certificate, key = certificates(addresses)
    write_private(credentials.authority, authority)
    write_private(credentials.certificate, certificate)
    write_private(credentials.key, key)
    account_key = ec.generate_private_key(ec.SECP256R1())
    write_private(credentials.service_account_key, _private_bytes(account_key))
    write_private(
        credentials.service_account_public_key,
        account_key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        ),
    )
    lines = [f'{tokens[user]},{user},{user},"{",".join(groups)}"\n' for user, groups in USERS.items()]
    write_private(credentials.token_file, "".join(lines).encode())
    for user in USERS:
        write_private(credentials.kubeconfig(user), _kubeconfig(server, authority, user, tokens[user]))
    return credentials


def _kubeconfig(server: str, authority: bytes, user: str, token: str) -> bytes:
    """A kubeconfig as JSON, which is YAML too."""
    cluster = {"server": server, "certificate-authority-data": base64.b64encode(authority).decode()}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "lab", "cluster": cluster}],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": user}}],
        "current-context": "lab",
    }
    return json.dumps(content, indent=1).encode()


def _private_bytes(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def certificates(addresses: Sequence[str]) -> tuple[bytes, bytes, bytes]:
    """An authority, a server certificate signed by it, and its key: PEM, fit for strict verification (Python 3.13)."""
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority = _sign(
        _builder("stateful-upgrade lab authority", "stateful-upgrade lab authority", authority_key, authority_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True),
        authority_key,
    )
    server_key = ec.generate_private_key(ec.SECP256R1())
    names: list[x509.GeneralName] = [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
    names.append(x509.DNSName("localhost"))
    server = _sign(
        _builder("stateful-upgrade lab", "stateful-upgrade lab authority", server_key, authority_key)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False),
        authority_key,
    )
    pem = serialization.Encoding.PEM
    return authority.public_bytes(pem), server.public_bytes(pem), _private_bytes(server_key)


def _builder(
    subject: str, issuer: str, key: ec.EllipticCurvePrivateKey, issuer_key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.timezone.utc)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _sign(builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    return builder.sign(key, hashes.SHA256())
