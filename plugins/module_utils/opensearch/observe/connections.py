"""The routes to a cluster that opensearch-py does not know: through a proxy, and through the Kubernetes API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from ...common.packages import needed
from ...common.proxies import Proxy
from ...common.time_limit import TimeLimit, limit_pools, limited
from ...kubernetes.port_forward import PodForward, PortForward

_TLS = ("cert_reqs", "ca_certs", "cert_file", "key_file", "assert_hostname", "assert_fingerprint", "ssl_version")
"""The TLS options of opensearch-py that a connection pool keeps as attributes."""

_ASKING = "url" + "open"
"""The name of a pool's method in urllib3. In one word, linters take it for the function of the standard library."""


Certificates = dict[str, set[bytes]]
"""The certificates in DER that were shown, by host and port."""
ProxyOf = Callable[[str], "Proxy | None"]
"""A function that gives the proxy for a URL."""
Note = Callable[[Mapping[str, Any]], None]
"""A function that gets the headers of each answer."""


def _unnoted(_headers: Mapping[str, Any]) -> None:
    """Ignore the headers."""


def connection_class(
    proxy_of: ProxyOf, forward: PortForward | None, limit: TimeLimit, shown: Certificates, note: Note = _unnoted
) -> Any:
    """The class of connections for opensearch-py; `proxy_of` gives the proxy for a URL.

    The connections note the certificates that they are `shown`, except for those through a proxy.
    """
    library = needed("opensearchpy", "opensearch-py")
    base, timed_out = library.Urllib3HttpConnection, library.exceptions.ConnectionTimeout

    @cache
    def connected_by(way: Any) -> Any:
        """The class of one connection, made once for all hosts."""
        return limited(noting(way if forward is None else forwarded(way, forward), shown, note), limit)

    class Connection(base):  # type: ignore[misc,valid-type]  # known at run time only
        """Connections to one host, by the route that was chosen."""

        pool: Any

        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self._take_the_way()

        def perform_request(self, *arguments: Any, **options: Any) -> Any:
            """The answer. If none comes in time, `silent` of the error is this connection."""
            try:
                return super().perform_request(*arguments, **options)
            except timed_out as error:
                error.silent = self
                raise

        def _create_urllib3_pool(self) -> None:
            # opensearch-py has this method from 3.0 on, and makes a pool that was closed again with it.
            super()._create_urllib3_pool()
            self._take_the_way()

        def _take_the_way(self) -> None:
            if isinstance(self.pool, ProxiedPool):
                return
            self.pool.ConnectionCls = connected_by(type(self.pool).ConnectionCls)
            if forward is not None:
                return
            url = f"{'https' if self.use_ssl else 'http'}://{_in_url(self.hostname)}:{self.port}"
            proxy = proxy_of(url)
            if proxy is not None:
                self.pool = ProxiedPool(url, proxy, self.pool, limit)

    return Connection


def forwarded(base: Any, forward: PodForward | PortForward) -> Any:
    """A subclass of `base` whose sockets lead through the Kubernetes API; its TLS and host names stay the same."""

    class Forwarded(base):  # type: ignore[misc]  # known at run time only
        """One connection."""

        def _new_conn(self) -> Any:
            return forward.socket()

    return Forwarded


def noting(base: Any, shown: Certificates, note: Note = _unnoted) -> Any:
    """A subclass of `base` that notes the certificate of the other side, verified or not, and the headers it sends."""

    class Noting(base):  # type: ignore[misc]  # known at run time only
        """One connection."""

        def connect(self) -> None:
            super().connect()
            asked = getattr(self.sock, "getpeercert", None)
            certificate = asked(True) if asked else None
            if certificate:
                shown.setdefault(f"{self.host}:{self.port}", set()).add(certificate)

        def getresponse(self, *arguments: Any, **options: Any) -> Any:
            answer = super().getresponse(*arguments, **options)
            note(answer.headers)
            return answer

    return Noting


class ProxiedPool:
    """The part of a connection pool that opensearch-py uses, through a proxy: plain for http, by CONNECT for https."""

    def __init__(self, url: str, proxy: Proxy, direct: Any, limit: TimeLimit) -> None:
        urllib3 = needed("urllib3", "urllib3")
        tls: Mapping[str, Any] = {name: value for name in _TLS if (value := getattr(direct, name, None)) is not None}
        self._url = url
        self._manager = urllib3.ProxyManager(proxy.url, proxy_headers=proxy.headers(), timeout=direct.timeout, **tls)
        limit_pools(self._manager, limit)

    def ask(self, method: str, url: str, body: Any = None, **how: Any) -> Any:
        """The answer to one request; `url` is a path."""
        asking = getattr(self._manager, _ASKING)
        return asking(method, self._url + url, body=body, **{**how, "redirect": False})

    def close(self) -> None:
        """Close all connections."""
        self._manager.clear()


setattr(ProxiedPool, _ASKING, ProxiedPool.ask)


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
