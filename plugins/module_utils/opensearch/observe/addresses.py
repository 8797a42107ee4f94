"""The addresses of a cluster, and the files of its connection, as the `opensearch` argument gives them.

While TLS is switched on or off at the REST port, members answer at two addresses: those that have not restarted at
`hosts`, the others at `after.hosts`.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from ...common.credentials import judge_exposure, refuse_in_address, refuse_no_url
from ...common.errors import refusal
from ...common.verdict import Verdict, combine

SCHEMES = ("https://", "http://")
DEFAULT_PORTS = {"https": 443, "http": 9200}
"""The ports of URLs without one, as the clients of OpenSearch have them (opensearch-py, client/utils.py,
_normalize_hosts, and connection/base.py, Connection)."""

ENCRYPTED = (b"BEGIN ENCRYPTED PRIVATE KEY", b"Proc-Type: 4,ENCRYPTED")
"""The marks of a key with a passphrase in PEM (RFC 7468, 11, and RFC 1421, 4.6.1.1)."""
CREDENTIALS = ("username", "password")
_OF_BOTH = ("proxy", "no_proxy", "port_forward", "request_timeout")


def after_of(options: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The options of the connection to members that have restarted; None if the addresses stay the same.

    The route (proxy, port_forward) is the same. User and password stay the same if `after` names no user and its
    addresses have TLS: nothing is sent without encryption that was not given for it.
    """
    options = options or {}
    after = options.get("after")
    if not after:
        return None
    own = {name: value for name, value in after.items() if value is not None}
    kept = CREDENTIALS if not own.get("username") and is_https(own) else ()
    return {name: options.get(name) for name in (*_OF_BOTH, *kept)} | own


def before_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the connection to members that have not restarted."""
    return {**options, "after": None}


def is_https(options: Mapping[str, Any]) -> bool:
    """Whether the addresses of a connection have TLS; the first one shows it, since all are of one kind."""
    return str((options.get("hosts") or [""])[0]).lower().startswith(SCHEMES[0])


def refuse_user_alone(options: Mapping[str, Any], name: str) -> None:
    """Refuse a user without a password; `name` is the option of the connection.

    Raises:
        Refusal: an empty password would be sent, which servers take for a wrong one.
    """
    if options.get("username") and not options.get("password") and not options.get("client_cert"):
        raise refusal(
            "opensearch_connection_options",
            f"The user {options['username']} of OpenSearch ({name}.username) has no password.",
            f"Set {name}.password"
            + (
                " (or the environment variable OPENSEARCH_PASSWORD), or leave out the user name"
                " (also OPENSEARCH_USERNAME) if the cluster asks for no user."
                if name == "opensearch"
                else "."
            ),
        )


def refuse_files(options: Mapping[str, Any], name: str) -> None:
    """Refuse files that are not there or hold something else, and keys with a passphrase; `name` is the option of the
    connection.

    Raises:
        Refusal: a file cannot be used.
    """
    for option in ("ca_cert", "client_cert", "client_key"):
        if options.get(option) and not os.path.isfile(options[option]):
            raise refusal(
                "opensearch_connection_options",
                f"The file {options[option]} ({name}.{option}) does not exist.",
                f"Give the right path with {name}.{option}.",
            )
        _refuse_passphrase(options.get(option), f"{name}.{option}")
    _refuse_content(options, name)


def _refuse_content(options: Mapping[str, Any], name: str) -> None:
    """OpenSSL would find it out at the first request, and blame the certificate or the address of the server."""
    authority, certificate, key = (options.get(option) for option in ("ca_cert", "client_cert", "client_key"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if authority and not _in_pem(lambda: context.load_verify_locations(authority)):
        raise refusal(
            "opensearch_connection_options",
            f"The file {authority} ({name}.ca_cert) has no certificate in PEM.",
            f"Give with {name}.ca_cert the certificate of the CA that signed those of the cluster.",
        )
    if certificate and not _in_pem(lambda: context.load_cert_chain(certificate, key)):
        has_key = f"the file {key} ({name}.client_key)" if key else f"that file, without {name}.client_key,"
        raise refusal(
            "opensearch_connection_options",
            f"The file {certificate} ({name}.client_cert) has no certificate in PEM, or {has_key} no key that fits.",
            f"Give with {name}.client_cert and {name}.client_key a certificate and its key.",
        )


def _in_pem(load: Callable[[], object]) -> bool:
    """Whether OpenSSL can use files. One that may not be read has a sentence of its own later."""
    try:
        with suppress(PermissionError):
            load()
    except ssl.SSLError:
        return False
    return True


def _refuse_passphrase(file: str | None, option: str) -> None:
    """Refuse a key with a passphrase: OpenSSL would ask for it on the terminal, in the middle of the run."""
    with suppress(OSError), open(file or os.devnull, "rb") as found:
        content = found.read()
        if any(mark in content for mark in ENCRYPTED):
            raise refusal(
                "key_encrypted",
                f"The key in {file} ({option}) is encrypted, and no passphrase is asked for.",
                "Give a key without a passphrase that only the user who runs Ansible can read.",
            )


def hosts_of(options: Mapping[str, Any], name: str = "opensearch") -> list[str]:
    """The URLs of `hosts`, which are either all with TLS or all without; `name` is the option of the connection.

    Without a scheme the package would use http. In a list of both kinds, a password would go to the next host without
    TLS as soon as a host with TLS is out of reach, or has a wrong certificate.

    Raises:
        Refusal: no URL is given, or one of them has no scheme or holds credentials, or they are of both kinds.
    """
    hosts, option = list(options.get("hosts") or []), f"{name}.hosts"
    if not hosts:
        raise refusal(
            "opensearch_hosts_missing",
            "No address of the OpenSearch cluster is given.",
            f"Set {option} (or the environment variable OPENSEARCH_HOSTS) to its URLs."
            if name == "opensearch"
            else f"Set {option} to its URLs.",
        )
    for host in hosts:
        refuse_in_address(host, option, f"{name}.username and {name}.password")
        refuse_no_url(host if host.lower().startswith(SCHEMES) else f"{SCHEMES[0]}{host}", host, option)
        if not host.lower().startswith(SCHEMES):
            raise refusal(
                "opensearch_scheme",
                f"The address {host} of {option} does not say whether it has TLS.",
                f"Write https://{host} (or http://{host} where the REST port has no TLS).",
            )
    if len({host.partition(":")[0].lower() for host in hosts}) > 1:
        raise refusal(
            "opensearch_scheme",
            f"Some addresses of {option} have TLS and others have none: {', '.join(hosts)}.",
            "Give addresses of one kind. With https:// alone nothing is ever sent without encryption.",
        )
    return hosts


def with_port(url: str) -> str:
    """A URL of `hosts` with its port, whether it is written there or not.

    Raises:
        ValueError: its port is none.
    """
    parts = urlsplit(url)
    if parts.port:
        return url
    return parts._replace(netloc=f"{parts.netloc}:{DEFAULT_PORTS[parts.scheme]}").geturl()


def judge_connection(options: Mapping[str, Any]) -> Verdict:
    """A remark if someone on the network could read a password. The Kubernetes connection has its own."""
    return combine(_judge_sent(each) for each in (options, after_of(options)) if each)


def _judge_sent(options: Mapping[str, Any]) -> Verdict:
    username = options.get("username")
    if not username or options.get("port_forward"):
        return Verdict()
    verified = bool(options.get("validate_certs", True))
    sent = f"The password of the OpenSearch user {username}"
    return combine(judge_exposure(sent, host, verified) for host in options.get("hosts") or ())
