"""A cluster whose members have the security plugin: TLS, users, and exactly the documented role for the upgrade."""

from __future__ import annotations

import base64
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

import yaml

from tests.lab.control_plane.credentials import write_private
from tests.lab.lab import Lab
from tests.lab.opensearch.layouts import three_combined
from tests.lab.opensearch.secured import ADMIN, PASSWORD, Security
from tests.lab.waiting import until
from tests.scenarios.cluster import BOOT, ROLE, USER, Cluster
from tests.scenarios.preconditions import POOL

DOCUMENTED: dict[str, Any] = yaml.safe_load(ROLE.with_name("opensearch_role.yml").read_text(encoding="utf-8"))
"""The permissions that the documentation asks for, by role."""


@dataclass(frozen=True, kw_only=True)
class Secured(Cluster):
    """The cluster, and where its authority's certificate and those of its users lie."""

    security: Security
    directory: Path

    @classmethod
    def begin(
        cls,
        lab: Lab,
        namespace: str,
        version: str,
        directory: Path,
        users: Mapping[str, Sequence[str]],
        roles: Any,
        **options: Any,
    ) -> Any:
        """Start three members, and wait until they are green; the users come with their roles.

        `options` are those of the layout.
        """
        whole = three_combined(namespace, version, address=lab.pod_address)
        lab.apply([each for each in whole if each["kind"] in {"Namespace", "Service"}])
        service = until("the address of the Service", lambda: Cluster(lab, namespace).address, BOOT)
        addresses = [service, *(lab.pod_address(namespace, f"{POOL}-{ordinal}") for ordinal in range(3))]
        security = Security.of(addresses, [f"opensearch.{namespace}.svc"], roles, users)
        lab.apply(security.manifests(namespace))
        cluster = cls(lab, namespace, security=security, directory=directory)
        write_private(cluster.authority, security.authority.certificate)
        cluster.rise(three_combined, version, **security.options(), **options)
        for each in addresses[1:]:
            until(f"the users to be known at {each}", partial(cluster._knows_users, each), BOOT)
        return cluster

    def _knows_users(self, address: str) -> bool:
        """Whether a member has read the plugin's index, before which it serves no one."""
        try:
            with self.open(urllib.request.Request(f"https://{address}:9200/")):
                return True
        except OSError:
            return False

    @property
    def authority(self) -> Path:
        """The file with the certificate of the cluster's authority."""
        return self.directory / "ca.crt"

    @property
    def url(self) -> str:
        """The cluster's Service, as its users reach it."""
        return f"https://{self.address}:9200"

    @property
    def named_url(self) -> str:
        """The name that the certificate is for, which leads nowhere from here."""
        return f"https://{self.name}.{self.namespace}.svc:9200"

    def open(self, request: urllib.request.Request) -> Any:
        """The answer to a request, as the user who may do everything.

        A member that is Ready may not have read the plugin's index yet: then it answers 503, and is asked again.
        """
        credentials = base64.b64encode(f"{ADMIN}:{PASSWORD}".encode()).decode()
        request.add_header("Authorization", f"Basic {credentials}")
        context = ssl.create_default_context(cafile=str(self.authority))

        def answered() -> Any:
            try:
                return urllib.request.urlopen(request, timeout=30, context=context)  # noqa: S310 - the lab's own address
            except urllib.error.HTTPError as error:
                if error.code != HTTPStatus.SERVICE_UNAVAILABLE:
                    raise
                return None

        return until("a member that knows its users", answered, BOOT)

    def by_password(self, user: str = USER) -> dict[str, Any]:
        """The options of a connection by name and password."""
        trusted = {"ca_cert": str(self.authority)} if self.url.startswith("https") else {}
        return {"hosts": [self.url], **trusted, "username": user, "password": PASSWORD}

    def by_certificate(self, user: str = USER) -> dict[str, Any]:
        """The options of a connection by a client certificate."""
        identity = self.security.authority.issue(user)
        certificate, key = (self.directory / f"{user}.{kind}" for kind in ("crt", "key"))
        write_private(certificate, identity.certificate)
        write_private(key, identity.key)
        files = {"client_cert": str(certificate), "client_key": str(key)}
        return {"hosts": [self.url], "ca_cert": str(self.authority), **files}
