"""The security plugin on every member: TLS on both ports, users with passwords or certificates, roles.

Written as users of the official image write it: Secrets with the certificates and with the files that the plugin's own
index is made of at the first start.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.lab.certificates import Authority, Identity
from tests.lab.opensearch.layouts import Manifest

CONFIGURATION = "/usr/share/opensearch/config"
CERTIFICATES, SECURITY = "certificates", "opensearch-security"
MEMBER, ADMIN = "member", "admin"
"""Common names: of the members among themselves, and of the user who may do everything."""
PASSWORD = "amber-basalt-cinder-7"
_HASH = "$2y$04$abcdefghijklmnopqrstuuxLqFzLFfynrbqakC12vZx.GclqCUOAm"
"""Of it, by bcrypt with the least rounds."""


@dataclass(frozen=True)
class Security:
    """The authority of the certificates, the roles and the users."""

    authority: Authority
    members: Identity
    roles: Mapping[str, Any]
    """The roles, as in the plugin's `roles.yml`."""
    users: Mapping[str, Sequence[str]]
    """User → roles. They log in with `PASSWORD`, or with a certificate whose common name is theirs."""

    @classmethod
    def of(
        cls,
        addresses: Sequence[str],
        names: Sequence[str],
        roles: Mapping[str, Any],
        users: Mapping[str, Sequence[str]],
    ) -> Security:
        """Members that are reached at these addresses and names."""
        authority = Authority("search authority")
        return cls(authority, authority.issue(MEMBER, addresses, names), roles, users)

    def options(self) -> dict[str, Any]:
        """The further options of a layout. Without a password, a probe can only see whether the port is open."""
        return {
            "settings": _settings(),
            "secrets": {CERTIFICATES: f"{CONFIGURATION}/{CERTIFICATES}", SECURITY: f"{CONFIGURATION}/{SECURITY}"},
            "ready": {"tcpSocket": {"port": 9200}},
        }

    def manifests(self, namespace: str) -> list[Manifest]:
        """The Secrets."""
        certificates = {
            "ca.crt": self.authority.certificate,
            "member.crt": self.members.certificate,
            "member.key": self.members.key,
        }
        files = {name: json.dumps(content).encode() for name, content in self._files().items()}
        return [_secret(namespace, CERTIFICATES, certificates), _secret(namespace, SECURITY, files)]

    def _files(self) -> dict[str, Any]:
        """The plugin's files: JSON, which is YAML too."""
        mapping: dict[str, dict[str, list[str]]] = {"all_access": {"users": [ADMIN]}}
        for user, roles in self.users.items():
            for role in roles:
                mapping.setdefault(role, {"users": []})["users"].append(user)
        accounts = {name: {"hash": _HASH} for name in (ADMIN, *self.users)}
        contents: dict[str, Mapping[str, Any]] = {
            "config": _AUTHENTICATION,
            "internal_users": accounts,
            "roles": self.roles,
            "roles_mapping": mapping,
            "action_groups": {},
            "tenants": {},
            "nodes_dn": {},
            "allowlist": {"config": {"enabled": False}},
            "whitelist": {"config": {"enabled": False}},
            "audit": {"config": {"enabled": False}},
        }
        return {
            f"{name}.yml": {"_meta": {"type": name.replace("_", ""), "config_version": 2}, **content}
            for name, content in contents.items()
        }


_AUTHENTICATION = {
    "config": {
        "dynamic": {
            "authc": {
                "certificate": {
                    "http_enabled": True,
                    "order": 0,
                    "http_authenticator": {
                        "type": "clientcert",
                        "challenge": False,
                        "config": {"username_attribute": "cn"},
                    },
                    "authentication_backend": {"type": "noop"},
                },
                "password": {
                    "http_enabled": True,
                    "order": 1,
                    "http_authenticator": {"type": "basic", "challenge": True},
                    "authentication_backend": {"type": "intern"},
                },
            }
        }
    }
}


def _settings() -> dict[str, str]:
    """The settings of every member."""
    found = {
        "plugins.security.allow_default_init_securityindex": "true",
        "plugins.security.nodes_dn": f"CN={MEMBER}",
        "plugins.security.ssl.transport.enforce_hostname_verification": "false",
        "plugins.security.ssl.http.enabled": "true",
        "plugins.security.ssl.http.clientauth_mode": "OPTIONAL",
        "plugins.security.system_indices.enabled": "true",
        "plugins.security.system_indices.permission.enabled": "true",
    }
    for port in ("http", "transport"):
        for setting, name in (("pemcert", "member.crt"), ("pemkey", "member.key"), ("pemtrustedcas", "ca.crt")):
            found[f"plugins.security.ssl.{port}.{setting}_filepath"] = f"{CERTIFICATES}/{name}"
    return found


def _secret(namespace: str, name: str, files: Mapping[str, bytes]) -> Manifest:
    data = {file: base64.b64encode(content).decode() for file, content in files.items()}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
