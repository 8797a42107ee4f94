"""The proxy of a connection: the one that the user sets, else that of the environment, as with curl and kubectl."""

from __future__ import annotations

import ipaddress
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit, urlunsplit

SCHEMES = ("http", "https")
EVERYTHING = "*"


@dataclass(frozen=True)
class Proxy:
    """A proxy, and the credentials for it."""

    url: str
    """The URL without credentials, so that it can be shown."""
    credentials: str = field(default="", repr=False)
    """`user:password`, or empty."""

    @property
    def host(self) -> str:
        """Its host name or address."""
        return urlsplit(self.url).hostname or ""

    def headers(self) -> dict[str, str]:
        """The headers that carry the credentials for the proxy."""
        return {"proxy-authorization": basic(self.credentials)} if self.credentials else {}

    @property
    def port(self) -> int:
        """Its port."""
        parts = urlsplit(self.url)
        return parts.port or (443 if parts.scheme == "https" else 80)


def basic(credentials: str) -> str:
    """The value of a header for basic authentication as `user:password`.

    It is in UTF-8, as servers read it (RFC 7617; server source, HTTPHelper.extractCredentials). The HTTP libraries
    write latin-1, or fail with a character of the password in the message.
    """
    return "Basic " + b64encode(credentials.encode()).decode("ascii")


def parse_proxy(text: str) -> Proxy:
    """The proxy that a URL names. A URL without a scheme means a proxy without TLS.

    Raises:
        ValueError: this is not the URL of an HTTP proxy. The message does not quote it, since it may hold a password.
    """
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
    except ValueError:
        raise ValueError("the URL of the proxy cannot be read; quote the signs of its password (%5B for [)") from None
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError("the port of the proxy is not a number up to 65535") from None
    if parts.scheme not in SCHEMES:
        raise ValueError(f"a proxy of the kind {parts.scheme} is not supported, only http and https are")
    if not host:
        raise ValueError("the URL of the proxy names no host")
    shown = f"[{host}]" if ":" in host else host
    url = urlunsplit((parts.scheme, shown + (f":{port}" if port else ""), "", "", ""))
    credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else ""
    return Proxy(url, credentials)


def proxy_for(url: str, given: str | None, no_proxy: str | None, environment: Mapping[str, str]) -> Proxy | None:
    """The proxy for a URL, or None for a direct connection.

    `given` overrides HTTPS_PROXY or HTTP_PROXY of the environment, `no_proxy` overrides NO_PROXY. This machine itself
    (localhost, 127.0.0.0/8) is never reached through a proxy that is set only in the environment.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    text = given or _said(environment, f"{parts.scheme}_proxy") or _said(environment, "all_proxy")
    spared = _said(environment, "no_proxy") if no_proxy is None else no_proxy
    if not text or (not given and is_here(host)) or is_spared(host, parts.port, spared):
        return None
    return parse_proxy(text)


def is_here(host: str) -> bool:
    """Whether a host is this machine by its name or address."""
    address = _address(host)
    return host.lower() == "localhost" or (address is not None and address.is_loopback)


def is_spared(host: str, port: int | None, no_proxy: str) -> bool:
    """Whether NO_PROXY names a host: `*`, a name and all below it, an address, or a network; a name may have a port."""
    return any(_names(entry.strip().lower(), host.lower(), port) for entry in no_proxy.split(",") if entry.strip())


def _names(entry: str, host: str, port: int | None) -> bool:
    address = _address(host)
    if entry == EVERYTHING:
        return True
    if address is not None:
        try:
            return address in ipaddress.ip_network(entry.strip("[]"), strict=False)
        except ValueError:
            pass
    name, colon, number = entry.rpartition(":")
    if colon and number.isdigit():
        return int(number) == port and _names(name, host, port)
    suffix = entry.removeprefix("*").removeprefix(".")
    return bool(suffix) and (host == suffix or host.endswith(f".{suffix}"))


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _said(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name) or environment.get(name.upper()) or ""
