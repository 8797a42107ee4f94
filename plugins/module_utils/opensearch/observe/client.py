"""A thin client: opensearch-py for connections and TLS, plain JSON in and out, every failure one sentence."""

from __future__ import annotations

import copy
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from socket import gaierror
from types import ModuleType
from typing import Any
from urllib.parse import urlencode

from ...common.credentials import judge_exposure, refuse_in_address, refuse_no_url
from ...common.errors import HANDSHAKE_BROKEN_OFF, NobodyThere, NotServed, Refusal, Unreachable, refusal
from ...common.packages import needed
from ...common.proxies import Proxy, basic, proxy_for
from ...common.proxy_faults import ProxyRoute
from ...common.reading import FOREIGN
from ...common.time_limit import TimeLimit
from ...common.verdict import Verdict, combine
from ...kubernetes import client as kubernetes
from ...kubernetes.port_forward import PortForward
from .answers import not_understood
from .connections import Certificates, connection_class
from .products import KnownProduct, Product

SCHEMES = ("https://", "http://")

PASSING = (
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
)
"""Answers that a cluster (no elected manager, overload) or a proxy before it gives for a while."""

MORE_RIGHTS = "Give the user the permissions listed in the documentation of this module, or remove the block it names."
"""The remedy for the status 403: a missing permission, or a blocked index."""

UNSERVED: Mapping[int, str] = {
    HTTPStatus.BAD_REQUEST: "no handler found for uri",
    HTTPStatus.NOT_FOUND: "no such index [_plugins]",
}
"""The answers to a request that only a plugin serves which is not there. The first major took it for a document."""

ENCRYPTED = (b"BEGIN ENCRYPTED PRIVATE KEY", b"Proc-Type: 4,ENCRYPTED")
"""The marks of a key with a passphrase in PEM (RFC 7468, 11, and RFC 1421, 4.6.1.1)."""
LONGEST_REASON = 400
"""The most characters of an error that a message quotes, since the page of a proxy may be long."""

OTHER_WORDS = ("message", "Message", "type")
"""The fields in which a proxy, or a server that gives no reason, names the fault."""

_WRAPPING = re.compile(r"^\[[\w ]+: \w+\] | \(_ssl\.c:\d+\)$")
"""The parts that Python puts around the text of a TLS error."""


class OpenSearchClient:
    """Requests to one cluster through any of its hosts.

    Raises:
        Refusal: from every method, if the cluster is out of reach, or refuses the credentials or the request.
    """

    def __init__(
        self,
        connection: Any,
        hosts: list[str],
        library: ModuleType,
        limit: TimeLimit,
        username: str = "",
        certificates: Certificates | None = None,
        asked: KnownProduct | None = None,
    ) -> None:
        self.certificates: Certificates = {} if certificates is None else certificates
        """Those that the members have shown so far."""
        self._asked = asked or KnownProduct()
        self._connection = connection
        self._limit = limit
        self._library = library
        self._username = username
        self._failures = (OSError, needed("urllib3.exceptions", "urllib3").HTTPError)
        self.where = ", ".join(hosts)
        self.proxy: Proxy | None = None
        """The proxy on the way to it, for refusals."""

    @property
    def product(self) -> Product | None:
        """The servers that have answered; None as long as no answer has told it."""
        return self._asked.product

    def get(self, path: str, **params: Any) -> dict[str, Any]:
        """The JSON answer to GET; `params` are query parameters."""
        return self._ask("GET", path, params)

    def put(self, path: str, body: Mapping[str, Any], **params: Any) -> dict[str, Any]:
        """The JSON answer to PUT."""
        return self._ask("PUT", path, params, body)

    def post(self, path: str, body: Mapping[str, Any] | None = None, **params: Any) -> dict[str, Any]:
        """The JSON answer to POST."""
        return self._ask("POST", path, params, body)

    def post_once(self, path: str, seconds: float, **params: Any) -> dict[str, Any]:
        """The JSON answer to a POST that may take `seconds`. It is sent only once, even if no answer comes."""
        return self._ask("POST", path, params, seconds=seconds)

    def delete(self, path: str, **params: Any) -> dict[str, Any]:
        """The JSON answer to DELETE; empty if there was nothing to delete."""
        return self._ask("DELETE", path, params, ignore=(HTTPStatus.NOT_FOUND,))

    def order(self, method: str, path: str, **params: Any) -> None:
        """A request whose answer has no body, as have those to `_cluster/voting_config_exclusions`."""
        self._ask(method, path, params, may_be_empty=True)

    def health(self, **params: Any) -> dict[str, Any]:
        """`_cluster/health`. A wait that ran out answers 408 with a whole body, which is an answer like any other."""
        return self._ask("GET", "/_cluster/health", params, ignore=(HTTPStatus.REQUEST_TIMEOUT,))

    def _ask(
        self,
        method: str,
        path: str,
        params: Mapping[str, Any],
        body: Mapping[str, Any] | None = None,
        ignore: tuple[int, ...] = (),
        may_be_empty: bool = False,
        seconds: float | None = None,
    ) -> dict[str, Any]:
        errors = self._library.exceptions
        transport = self._connection.transport
        if seconds is not None:
            transport = copy.copy(transport)
            transport.max_retries = 0
        # The parameters go into the path, since opensearch-py takes one called timeout for its own.
        url = f"{path}?{urlencode(params)}" if params else path
        self._limit.begin(seconds)
        try:
            answer = transport.perform_request(method, url, params={"ignore": ignore}, body=body, timeout=seconds)
        except errors.ConnectionError as error:
            if isinstance(error.info, Refusal):
                raise error.info from error
            if not isinstance(error.info, self._failures):
                raise  # opensearch-py wraps every exception, even a fault of this code
            silent = getattr(error, "silent", None)
            if silent is not None:
                # opensearch-py asks it again in its turn: the next look would be unanswered like this one.
                self._connection.transport.mark_dead(silent)
            # The name of the host is useful only if it was reached directly.
            where = silent.host if silent is not None and silent.host in self.where else self.where
            fault = ProxyRoute(self.proxy, where, "opensearch.proxy").fault(error.info)
            late = seconds or self._limit.seconds
            raise fault or _unreachable(self._asked, where, error, errors, late) from error
        except errors.TransportError as error:
            raise self._answered(method, path, error) from error
        except (errors.SerializationError, *FOREIGN) as error:
            raise not_understood(f"{method} {path}", f"the server at {self.where} does not send JSON") from error
        if may_be_empty and not answer:
            return {}
        if not isinstance(answer, dict):
            raise not_understood(f"{method} {path}", f"the server at {self.where} does not send a JSON object")
        self._asked.note_members(answer.get("nodes") if path.startswith("/_nodes") else None)
        return answer

    def _answered(self, method: str, path: str, error: Any) -> Refusal:
        if error.status_code == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
            return ProxyRoute(self.proxy, self.where, "opensearch.proxy").answered(error.status_code)
        return _answered(self._asked, self.where, method, path, error, self._username)


def connect(options: Mapping[str, Any], kubernetes_options: Mapping[str, Any] | None = None) -> OpenSearchClient:
    """A client for the `opensearch` argument; no request is made yet.

    `kubernetes_options` is the `kubernetes` argument, for `port_forward`.

    Raises:
        Refusal: the package is missing, `hosts` cannot be used, or a certificate file is missing or cannot be read.
    """
    hosts = hosts_of(options)
    library = needed("opensearchpy", "opensearch-py")
    for option in ("ca_cert", "client_cert", "client_key"):
        if options.get(option) and not os.path.isfile(options[option]):
            raise refusal(
                "opensearch_connection_options",
                f"The file {options[option]} (opensearch.{option}) does not exist.",
                f"Give the right path with opensearch.{option}.",
            )
        _refuse_passphrase(options.get(option), option)
    forward = _forward(options, kubernetes_options or {})
    username, password = options.get("username"), options.get("password")
    shown, asked, limit = Certificates(), KnownProduct(), TimeLimit(float(options.get("request_timeout") or 30))
    try:
        connection = library.OpenSearch(
            hosts=hosts,
            headers={"authorization": basic(f"{username}:{password or ''}")} if username else None,
            http_compress=True,
            verify_certs=options.get("validate_certs", True),
            ssl_show_warn=False,
            ca_certs=options.get("ca_cert"),
            client_cert=options.get("client_cert"),
            client_key=options.get("client_key"),
            timeout=limit.seconds,
            max_retries=max(2, len(hosts)),
            retry_on_status=PASSING,
            connection_class=connection_class(partial(_proxy_for, options), forward, limit, shown, asked.note_headers),
        )
    except (OSError, ValueError, library.exceptions.ImproperlyConfigured) as error:
        raise refusal(
            "opensearch_connection_options",
            f"The connection to OpenSearch cannot be set up: {error}.",
            "Check hosts, ca_cert, client_cert, client_key and proxy under opensearch.",
        ) from error
    client = OpenSearchClient(
        connection, [forward.where] if forward else hosts, library, limit, username or "", shown, asked
    )
    if forward is None:
        client.proxy = next(filter(None, (_proxy_for(options, host) for host in hosts)), None)
    return client


def _refuse_passphrase(file: str | None, option: str) -> None:
    """Refuse a key with a passphrase: OpenSSL would ask for it on the terminal, in the middle of the run."""
    with suppress(OSError), open(file or os.devnull, "rb") as found:
        content = found.read()
        if any(mark in content for mark in ENCRYPTED):
            raise refusal(
                "key_encrypted",
                f"The key in {file} (opensearch.{option}) is encrypted, and no passphrase is asked for.",
                "Give a key without a passphrase that only the user who runs Ansible can read.",
            )


def _proxy_for(options: Mapping[str, Any], url: str) -> Proxy | None:
    return proxy_for(url, options.get("proxy"), options.get("no_proxy"), os.environ)


def hosts_of(options: Mapping[str, Any]) -> list[str]:
    """The URLs of `hosts`, which are either all with TLS or all without.

    Without a scheme the package would use http. In a list of both kinds, a password would go to the next host without
    TLS as soon as a host with TLS is out of reach, or has a wrong certificate.

    Raises:
        Refusal: no URL is given, or one of them has no scheme or holds credentials, or they are of both kinds.
    """
    hosts = list(options.get("hosts") or [])
    if not hosts:
        raise refusal(
            "opensearch_hosts_missing",
            "No address of the OpenSearch cluster is given.",
            "Set opensearch.hosts (or the environment variable OPENSEARCH_HOSTS) to its URLs.",
        )
    for host in hosts:
        refuse_in_address(host, "opensearch.hosts", "opensearch.username and opensearch.password")
        refuse_no_url(host if host.lower().startswith(SCHEMES) else f"{SCHEMES[0]}{host}", host, "opensearch.hosts")
        if not host.lower().startswith(SCHEMES):
            raise refusal(
                "opensearch_scheme",
                f"The address {host} of opensearch.hosts does not say whether it has TLS.",
                f"Write https://{host} (or http://{host} where the REST port has no TLS).",
            )
    if len({host.partition(":")[0].lower() for host in hosts}) > 1:
        raise refusal(
            "opensearch_scheme",
            f"Some addresses of opensearch.hosts have TLS and others have none: {', '.join(hosts)}.",
            "Give addresses of one kind. With https:// alone nothing is ever sent without encryption.",
        )
    return hosts


def judge_connection(options: Mapping[str, Any]) -> Verdict:
    """A remark if somebody on the network could read the password. The way through the Kubernetes API has its own."""
    username = options.get("username")
    if not username or options.get("port_forward"):
        return Verdict()
    verified = bool(options.get("validate_certs", True))
    sent = f"The password of the OpenSearch user {username}"
    return combine(judge_exposure(sent, host, verified) for host in options.get("hosts") or ())


def _forward(options: Mapping[str, Any], kubernetes_options: Mapping[str, Any]) -> PortForward | None:
    if not options.get("port_forward"):
        return None
    return PortForward(kubernetes.connect(kubernetes_options), options["port_forward"])


def _unreachable(asked: KnownProduct, where: str, error: Any, errors: Any, seconds: float) -> Refusal:
    if isinstance(error, errors.ConnectionTimeout):
        # The connection was made, which opensearch-py tells apart.
        return Unreachable.because(
            "opensearch_unreachable",
            f"{asked.subject} at {where} did not answer within {seconds:g} s.",
            "If this does not pass, see in its log whether that member hangs or is overloaded."
            " opensearch.request_timeout gives it more time.",
        )
    cause = _in_words(error)
    if isinstance(error, errors.SSLError) and "certificate" in cause:
        return refusal(
            "opensearch_certificate",
            f"The TLS certificate of {asked.name} at {where} is not accepted: {cause}.",
            "Set opensearch.ca_cert to the CA that signed it; opensearch.validate_certs=false turns the check off.",
        )
    if isinstance(error, errors.SSLError) and HANDSHAKE_BROKEN_OFF not in cause:
        return refusal(
            "opensearch_tls",
            f"A TLS connection to {asked.name} at {where} cannot be made: {cause}.",
            "Check opensearch.hosts: its port must be the REST port, and without TLS its URL begins with http://.",
        )
    nobody = isinstance(_root(error), (ConnectionRefusedError, gaierror))
    return (NobodyThere if nobody else Unreachable).because(
        "opensearch_unreachable",
        f"{asked.subject} at {where} cannot be reached: {cause}.",
        "Check opensearch.hosts (https:// only where the REST port has TLS), the network path from where Ansible"
        " runs, and that a member is up.",
    )


def _root(error: BaseException) -> BaseException:
    """The innermost cause. HTTP libraries wrap it in other errors."""
    inner: BaseException = error
    for _depth in range(10):
        candidates = (getattr(inner, "reason", None), getattr(inner, "info", None), *inner.args[-1:], inner.__cause__)
        following = next((each for each in candidates if isinstance(each, BaseException)), None)
        if following is None or following is inner:
            break
        inner = following
    return inner


def _in_words(error: BaseException) -> str:
    """The innermost cause in plain words, without the addresses of objects that libraries add."""
    inner = _root(error)
    text = str(getattr(inner, "strerror", None) or inner)
    return _WRAPPING.sub("", text).rsplit(">: ", 1)[-1].rstrip(".")


def _answered(asked: KnownProduct, where: str, method: str, path: str, error: Any, username: str) -> Refusal:
    said = _reason(error)
    if error.status_code == HTTPStatus.UNAUTHORIZED:
        return refusal(
            "opensearch_credentials",
            f"{asked.subject} at {where} did not accept the password of the user {username} (401)."
            if username
            else f"{asked.subject} at {where} asks for a user (401), and no username is given.",
            "Check opensearch.username and opensearch.password, or client_cert and client_key.",
        )
    if error.status_code == HTTPStatus.FORBIDDEN:
        return refusal("opensearch_rights", f"{asked.subject} does not allow {method} {path}: {said}.", MORE_RIGHTS)
    if error.status_code in PASSING:
        return Unreachable.because(
            "opensearch_unavailable",
            f"{asked.subject} at {where} cannot answer {method} {path} now ({error.status_code}): {said}.",
            "If this does not pass, see whether it has an elected manager, and whether its members are overloaded.",
        )
    if HTTPStatus.MULTIPLE_CHOICES <= error.status_code < HTTPStatus.BAD_REQUEST:
        return not_understood(f"{method} {path}", f"the server at {where} redirects the request ({error.status_code})")
    unserved = error.status_code in UNSERVED and said.startswith(UNSERVED[error.status_code])
    return (NotServed if unserved else Refusal).because(
        "opensearch_answer",
        f"{asked.subject} answered {error.status_code} to {method} {path}: {said}.",
        "Fix the cause it names and run again.",
    )


def _reason(error: Any) -> str:
    """The text of an error, from the server or from a proxy in its place; of a whole page, its beginning."""
    found = _body(error)
    if isinstance(found, dict):
        found = found.get("error") or found
    if isinstance(found, dict):
        roots = found.get("root_cause")
        inner = [each for each in (roots[:1] if isinstance(roots, list) else ()) if isinstance(each, dict)]
        words = [each.get("reason") for each in (*inner, found)] + [found.get(name) for name in OTHER_WORDS]
        found = next((each for each in words if isinstance(each, str) and each), None)
    said = " ".join(found.split()) if isinstance(found, str) else ""
    return said[:LONGEST_REASON].rstrip(".") or "it does not say why"


def _body(error: Any) -> Any:
    """The body of an error. If it was not declared as JSON, opensearch-py has only its text."""
    if error.info is not None:
        return error.info
    try:
        return json.loads(error.error)
    except (RecursionError, TypeError, ValueError):
        return error.error
