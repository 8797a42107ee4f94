# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Credentials on their way: how they are sent, and where they do not belong. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from .errors import refusal
from .proxies import is_here
from .verdict import Verdict, remark

_MARK = "@"
"""What ends the credentials of a URL. A password may hold any other character that a URL does not allow."""


def refuse_in_address(address: str, option: str, instead: str) -> None:
    """Every URL of a server is shown, recorded and told to others.

    Raises:
        Refusal: it holds credentials; it is not quoted.
    """
    if _of_url(address):
        raise refusal(
            "credentials_in_url",
            f"A URL of {option} holds a user name or a password, and URLs are shown and recorded.",
            f"Take the part before the @ out of the URL, and give it with {instead}.",
        )


def judge_way(sent: str, address: str, verified: bool) -> Verdict:
    """A remark where somebody on the way could read what is sent (`sent` names it, and is empty where nothing is).

    What goes to this machine itself is on no network.
    """
    parts = urlsplit(address)
    if not sent or is_here(parts.hostname or ""):
        return Verdict()
    if parts.scheme != "https":
        text = f"{sent} goes to {address} without encryption: anybody who sees the network can read it."
        return Verdict(
            (remark("credentials_unencrypted", text, "Turn TLS on there, and begin the URL with https://."),)
        )
    if not verified:
        text = (
            f"{sent} goes to {address} although its certificate is not checked: a server that takes its place can read"
            " it."
        )
        remedy = "Give the CA certificate with ca_cert, and leave validate_certs on."
        return Verdict((remark("credentials_unverified", text, remedy),))
    return Verdict()


def secrets_of_addresses(params: Mapping[str, Any]) -> frozenset[str]:
    """What has to be masked wherever the arguments of a module are shown: the credentials in its URLs."""
    addresses: list[str] = []
    for connection, option in (("opensearch", "hosts"), ("kubernetes", "host")):
        options = params.get(connection)
        given = options.get(option) if isinstance(options, Mapping) else None
        addresses += given if isinstance(given, list) else [given or ""]
    return frozenset(secret for address in addresses for secret in _secrets(_of_url(str(address))))


def _of_url(address: str) -> str:
    """The credentials of a URL as they stand there; empty without. Nothing else in these URLs has an @."""
    before, mark, _host = address.rpartition(_MARK)
    return before.rpartition("://")[2] if mark else ""


def _secrets(userinfo: str) -> Iterable[str]:
    _user, _colon, password = userinfo.partition(":")
    return (text for text in (userinfo, password, unquote(password)) if text)


def sendable(token: str) -> str:
    """The value of an authorization header without white space around it.

    Raises:
        Refusal: it cannot stand in a header; it is not quoted, as an HTTP library would do it.
    """
    value = token.strip()
    if value.isascii() and value.isprintable():
        return value
    raise refusal(
        "kubernetes_credentials",
        "The token for the Kubernetes API holds a line break or another character that no token has.",
        "Give the token alone, in one line, with kubernetes.api_key or in the kubeconfig.",
    )
