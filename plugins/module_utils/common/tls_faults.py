"""Faults of TLS by the words that OpenSSL has for them (`X509_verify_cert_error_string`, `SSL_alert_desc_string_long`):
the right authority helps against one of them only. Pure."""

from __future__ import annotations

import re

_OF_CALLER = re.compile(r"alert (.*certificate|unknown ca|handshake failure)")


def certificate_fix(cause: str, address: str) -> str:
    """The fix for the certificate of a server that is not accepted, and that no other authority makes acceptable; empty
    if one may. `address` is the option with the address of the server."""
    if "certificate has expired" in cause or "certificate is not yet valid" in cause:
        return "Renew it, or the certificate of its CA, and check the clock where Ansible runs."
    if "certificate is not valid for" in cause or "doesn't match" in cause:
        return f"Give in {address} a name or address that the certificate has, or have it issued for this one."
    return ""


def is_of_caller(cause: str) -> bool:
    """Whether the server has refused the certificate of the caller, or that there is none. With TLS 1.2 it only says
    that the handshake has failed."""
    return bool(_OF_CALLER.search(cause))
