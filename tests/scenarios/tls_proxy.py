"""TLS and basic authentication in front of a cluster, as the security plugin gives them; the lab's servers have none.

A reverse proxy in a thread of the tests: everything else is the real cluster.
"""

from __future__ import annotations

import base64
import contextlib
import secrets
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from tests.lab.certificates import Authority
from tests.lab.control_plane.credentials import write_private
from tests.scenarios.reverse_proxy import HOST, Forward, Passing, ReverseProxy

USERNAME = "upgrade"


@dataclass(frozen=True)
class TlsProxy:
    """The address of the door, and the credentials that open it."""

    url: str
    ca_cert: Path
    username: str
    password: str

    def environment(self) -> dict[str, str]:
        """The door and its key as users hand them over without writing them down."""
        return {
            "OPENSEARCH_HOSTS": self.url,
            "OPENSEARCH_CA_CERT": str(self.ca_cert),
            "OPENSEARCH_USERNAME": self.username,
            "OPENSEARCH_PASSWORD": self.password,
        }


@contextlib.contextmanager
def tls_proxy_of(backend: str, directory: Path) -> Iterator[TlsProxy]:
    """A door in front of the cluster at the URL `backend`; certificates, made for it alone, lie in `directory`."""
    authority, certificate, key = (directory / name for name in ("ca.crt", "server.crt", "server.key"))
    signing = Authority("the door's authority")
    door = signing.issue("the door", [HOST])
    for path, content in ((authority, signing.certificate), (certificate, door.certificate), (key, door.key)):
        write_private(path, content)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    password = secrets.token_urlsafe(24)
    credentials = base64.b64encode(f"{USERNAME}:{password}".encode()).decode()

    async def guarded(passing: Passing, forward: Forward) -> web.StreamResponse:
        if passing.authorization == f"Basic {credentials}":
            return await forward()
        challenge = {"WWW-Authenticate": 'Basic realm="OpenSearch Security"'}
        return web.Response(status=401, text="Unauthorized", headers=challenge)

    with ReverseProxy(backend, guarded, door=context) as proxy:
        yield TlsProxy(proxy.url, authority, USERNAME, password)
