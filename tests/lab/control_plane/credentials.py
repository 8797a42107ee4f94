"""Certificates, tokens and kubeconfig files of one lab; every file here is readable by its owner alone."""

from __future__ import annotations

import base64
import json
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.lab.certificates import Authority, private_bytes

USERS: dict[str, tuple[str, ...]] = {
    "admin": ("system:masters",),
    "kubelet": ("system:masters",),
    "system:kube-controller-manager": (),
    "system:kube-scheduler": (),
    "upgrader": (),
    "cluster-upgrader": (),
}
"""Users and their groups. `upgrader` may do nothing until a test binds a role to it, and gets no right to the whole
cluster: those are bound to `cluster-upgrader`, so that a test of few rights never finds more."""


@dataclass(frozen=True)
class Credentials:
    """The folder with the secrets of a lab, and the tokens by user."""

    directory: Path
    server: str
    tokens: dict[str, str]

    @property
    def authority(self) -> Path:
        return self.directory / "ca.crt"

    @property
    def authority_key(self) -> Path:
        return self.directory / "ca.key"

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
    """Write a file that no one else may read at any time."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as handle:
        handle.write(content)


def create(directory: Path, server: str, addresses: Sequence[str]) -> Credentials:
    """Make all secrets of a lab: one server certificate for the API server and the kubelet's log servers."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    tokens = {user: secrets.token_urlsafe(32) for user in USERS}
    credentials = Credentials(directory, server, tokens)
    authority = Authority("stateful-upgrade lab authority")
    server_identity = authority.issue("stateful-upgrade lab", addresses)
    write_private(credentials.authority, authority.certificate)
    write_private(credentials.authority_key, authority.key)
    write_private(credentials.certificate, server_identity.certificate)
    write_private(credentials.key, server_identity.key)
    account_key = ec.generate_private_key(ec.SECP256R1())
    write_private(credentials.service_account_key, private_bytes(account_key))
    write_private(
        credentials.service_account_public_key,
        account_key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        ),
    )
    lines = [f'{tokens[user]},{user},{user},"{",".join(groups)}"\n' for user, groups in USERS.items()]
    write_private(credentials.token_file, "".join(lines).encode())
    for user in USERS:
        write_private(credentials.kubeconfig(user), _kubeconfig(server, authority.certificate, user, tokens[user]))
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
