"""TLS to the API server: certificates and keys from files, each named with its own fault if it cannot be used."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any

from ..common.errors import Refusal, refusal

AUTHORITY, CERTIFICATE, KEY = "ca", "certificate", "key"
"""The files by what they are for."""

_MISMATCH = "KEY_VALUES_MISMATCH"


def tls_of(configuration: Any, context: ssl.SSLContext, labels: Mapping[str, str]) -> ssl.SSLContext:
    """The context with the certificates and keys read from the files that the configuration names.

    `labels` names the files in sentences.

    Raises:
        Refusal: one of them cannot be used.
    """
    if configuration.assert_hostname is False or not configuration.verify_ssl:
        context.check_hostname = False
    if not configuration.verify_ssl:
        context.verify_mode = ssl.CERT_NONE
    elif configuration.ssl_ca_cert:
        _trust(context, configuration.ssl_ca_cert, labels[AUTHORITY])
    else:
        context.load_default_certs()
    if configuration.cert_file:
        _identify(context, configuration.cert_file, configuration.key_file, labels)
    return context


def _trust(context: ssl.SSLContext, file: str, label: str) -> None:
    try:
        context.load_verify_locations(cafile=file)
    except ssl.SSLError:
        raise _unusable(label, "it holds no certificate in PEM") from None
    except OSError as error:
        raise _unusable(label, str(error.strerror or error)) from error


def _identify(context: ssl.SSLContext, certificate: str, key: str | None, labels: Mapping[str, str]) -> None:
    asked: list[bool] = []

    def passphrase() -> str:
        # Without this function OpenSSL would ask on the terminal, in the middle of the run.
        asked.append(True)
        return ""

    try:
        context.load_cert_chain(certificate, key, passphrase)
    except ssl.SSLError as error:
        raise _fault_of_identity(certificate, key, labels, str(error.reason or ""), encrypted=bool(asked)) from None
    except OSError as error:
        raise _unusable(f"{labels[CERTIFICATE]} or {labels[KEY]}", str(error.strerror or error)) from error
    if asked:
        raise _encrypted(labels[KEY])


def _fault_of_identity(
    certificate: str, key: str | None, labels: Mapping[str, str], reason: str, *, encrypted: bool
) -> Refusal:
    if encrypted:
        return _encrypted(labels[KEY])
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=certificate)
    except (ssl.SSLError, OSError):
        return _unusable(labels[CERTIFICATE], "it holds no certificate in PEM")
    if key is None:
        return _unusable(labels[CERTIFICATE], "its key is missing")
    if reason == _MISMATCH:
        return _unusable(labels[KEY], f"it is not the key of {labels[CERTIFICATE]}")
    return _unusable(labels[KEY], "it holds no private key in PEM")


def _encrypted(label: str) -> Refusal:
    remedy = "Give a key without a passphrase that only the user who runs Ansible can read."
    return _unusable(label, "the key is encrypted, and no passphrase is asked for", remedy)


def _unusable(label: str, cause: str, remedy: str = "Give a file that holds what belongs there, in PEM.") -> Refusal:
    return refusal(
        "kubernetes_configuration", f"A file for the Kubernetes API cannot be used: {label}: {cause}.", remedy
    )
