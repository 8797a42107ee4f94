"""Faults of a proxy: it refuses, cannot reach the server, or is down. They are not reported as the server's. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus

from .errors import Denied, NoConnection, Refusal, Unreachable, causes, root_cause
from .proxies import Proxy

_NO_TUNNEL = re.compile(r"(?:Tunnel connection failed: |failed CONNECT via proxy status: )(?P<status>\d{3})")
"""The words of Python (http.client, HTTPConnection._tunnel) and of websocket-client (_http.py, _tunnel)."""
_SILENT = "proxy_unreachable"
_UNCONNECTED = frozenset({"ProxyError", "WebSocketProxyException", "ProxyConnectionError"})
"""The errors of urllib3 and websocket-client about the connection to a proxy."""


@dataclass(frozen=True)
class ProxyRoute:
    """The connection to a server through a proxy."""

    proxy: Proxy | None
    """None if the library finds it by itself."""
    where: str
    """The server."""
    option: str
    """The option that names the proxy."""

    def fault(self, error: BaseException) -> Refusal | None:
        """The refusal for an error that the proxy has caused; None for any other error."""
        chain = causes(error)
        for each in chain:
            found = _NO_TUNNEL.search(str(each))
            if found:
                return self.answered(int(found["status"]))
        if not any(type(each).__name__ in _UNCONNECTED for each in chain):
            return None
        said = f"{self._named} to {self.where} cannot be reached: {root_cause(error)}."
        remedy = f"Check {self.option}, or HTTPS_PROXY in the environment, and that the proxy runs."
        if isinstance(chain[-1], ConnectionRefusedError):
            return NoConnection.because(_SILENT, said, remedy)
        return Unreachable.because(_SILENT, said, remedy)

    def answered(self, status: int) -> Refusal:
        """The refusal if the proxy has answered instead of the server."""
        said = " ".join(_words(status))
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return Unreachable.because(
                "proxy_has_no_way",
                f"{self._named} cannot reach {self.where}: it answers {said}.",
                f"See from the machine of the proxy whether {self.where} can be reached.",
            )
        credentials = f"Write a user and a password that it takes into its URL ({self.option})"
        spare = f"or leave it out for this host (NO_PROXY, {self.option.replace('.proxy', '.no_proxy')})"
        of_user = status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.PROXY_AUTHENTICATION_REQUIRED}
        allow = credentials if of_user else f"Have it allow CONNECT to {self.where}"
        return Denied.because(
            "proxy_refuses", f"{self._named} refuses access to {self.where}: it answers {said}.", f"{allow}, {spare}."
        )

    @property
    def _named(self) -> str:
        return f"The proxy {self.proxy.url}" if self.proxy else "The proxy"


def _words(status: int) -> Iterator[str]:
    yield str(status)
    if status in {each.value for each in HTTPStatus}:
        yield f"({HTTPStatus(status).phrase})"
