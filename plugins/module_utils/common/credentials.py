"""Credentials in transit: how they are sent, and the places they must not appear in. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from .errors import refusal
from .proxies import is_here
from .verdict import Reason, as_verdict, remark

_URL = re.compile(r"https?://(?:[\w.-]+|\[[0-9a-f:.%]+\])(?::[0-9]{1,5})?(?:/[^\s\"'`<>{}|\\^]*)?", re.I)
"""Scheme, host, port and path of a server."""
_MARK = "@"
"""The end of the credentials in a URL. A password may hold any other character that a URL does not allow."""


def refuse_in_address(address: str, option: str, instead: str) -> None:
    """Refuse credentials in the URL of a server, since every such URL is shown and recorded.

    Raises:
        Refusal: the URL holds credentials; the refusal does not quote it.
    """
    if _of_url(address):
        raise refusal(
            "credentials_in_url",
            f"A URL of {option} holds a user name or a password, and URLs are shown and recorded.",
            f"Take the part before the @ out of the URL, and give it with {instead}.",
        )


def refuse_no_url(url: str, given: str, option: str) -> None:
    """Refuse an address that can never be right, such as one with quotes around it.

    Raises:
        Refusal: this is not the URL of a server.
    """
    if not _URL.fullmatch(url):
        raise refusal(
            "address_not_url",
            f"The address {given} of {option} is not the URL of a server.",
            "Write it as https://NAME:PORT, without quotes and without spaces.",
        )


@as_verdict
def judge_exposure(sent: str, address: str, verified: bool) -> Iterator[Reason]:
    """A remark if someone on the network could read the credentials. `sent` names them; it is empty without any.

    Credentials for this machine itself cross no network.
    """
    parts = urlsplit(address)
    if not sent or is_here(parts.hostname or ""):
        return
    if parts.scheme != "https":
        text = f"{sent} goes to {address} without encryption: anyone on the network can read it."
        yield remark("credentials_unencrypted", text, "Turn TLS on there, and start the URL with https://.")
    elif not verified:
        text = (
            f"{sent} goes to {address} although its certificate is not checked: a server that takes its place can read"
            " it."
        )
        remedy = "Give the CA certificate with ca_cert, and leave validate_certs on."
        yield remark("credentials_unverified", text, remedy)


def secrets_of_addresses(params: Mapping[str, Any]) -> frozenset[str]:
    """The credentials in the URLs of a module's arguments, to be masked wherever the arguments are shown."""
    addresses: list[str] = []
    for connection, option in (("opensearch", "hosts"), ("kubernetes", "host")):
        options = params.get(connection)
        given = options.get(option) if isinstance(options, Mapping) else None
        addresses += given if isinstance(given, list) else [given or ""]
        after = options.get("after") if isinstance(options, Mapping) else None
        later = after.get(option) if isinstance(after, Mapping) else None
        addresses += later if isinstance(later, list) else []
    return frozenset(secret for address in addresses for secret in _secrets(_of_url(str(address))))


def _of_url(address: str) -> str:
    """The credentials of a URL as written, or empty. Nothing else in these URLs has an @."""
    before, mark, _host = address.rpartition(_MARK)
    return before.rpartition("://")[2] if mark else ""


def _secrets(userinfo: str) -> Iterable[str]:
    _user, _colon, password = userinfo.partition(":")
    return (text for text in (userinfo, password, unquote(password)) if text)


def sendable(token: str) -> str:
    """The value of an authorization header without white space around it.

    Raises:
        Refusal: the token cannot be put into a header. The refusal does not quote it; an HTTP library would.
    """
    value = token.strip()
    if value.isascii() and value.isprintable():
        return value
    raise refusal(
        "kubernetes_credentials",
        "The token for the Kubernetes API holds a line break or another character that no token has.",
        "Give the token alone, in one line, with kubernetes.api_key or in the kubeconfig.",
    )
