"""Pools of connections of urllib3 that obey the time limit of a request, and their TLS."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from typing import Any

from .packages import needed
from .proxies import Proxy
from .time_limit import TimeLimit, limit_pools

Changed = Callable[[Any], Any]
"""A function that gives a subclass of a class of connections."""


def connection_pools(limit: TimeLimit, proxy: Proxy | None = None, changed: Changed | None = None, **how: Any) -> Any:
    """A pool manager: direct, or through a proxy (plain for http, by CONNECT for https).

    `how` has the options of its connections; `changed`, if given, makes their class from that of urllib3.
    """
    urllib3 = needed("urllib3", "urllib3")
    if proxy is None:
        manager = urllib3.PoolManager(**how)
    else:
        manager = urllib3.ProxyManager(proxy.url, proxy_headers=proxy.headers(), **how)
    limit_pools(manager, limit, changed)
    return manager


def tls_context(options: Mapping[str, Any]) -> Any:
    """The TLS context for `validate_certs`, `ca_cert`, `client_cert` and `client_key`.

    Without `ca_cert` the certificates count that the machine trusts (also SSL_CERT_FILE and SSL_CERT_DIR). A key with
    a passphrase is not asked for on the terminal.

    Raises:
        OSError: a file cannot be used.
    """
    urllib3 = needed("urllib3", "urllib3")
    context = urllib3.util.ssl_.create_urllib3_context()
    if not options.get("validate_certs", True):
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif options.get("ca_cert"):
        context.load_verify_locations(options["ca_cert"])
    else:
        context.load_default_certs()
    if options.get("client_cert"):
        context.load_cert_chain(options["client_cert"], options.get("client_key"), "")
    return context
