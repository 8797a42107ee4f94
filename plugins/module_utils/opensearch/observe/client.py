"""A thin client: opensearch-py for connections and TLS, plain JSON in and out, every failure one sentence."""

from __future__ import annotations

import copy
import json
import os
import re
from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from http.client import BadStatusLine, RemoteDisconnected
from socket import gaierror
from types import ModuleType
from typing import Any
from urllib.parse import urlencode

from ...common.errors import HANDSHAKE_BROKEN_OFF, NoConnection, NotServed, Refusal, Unreachable, refusal
from ...common.packages import needed
from ...common.proxies import Proxy, basic, proxy_for
from ...common.proxy_faults import ProxyRoute
from ...common.reading import FOREIGN
from ...common.time_limit import TimeLimit
from ...common.tls_faults import certificate_fix, is_of_caller
from ...kubernetes import client as kubernetes
from ...kubernetes.port_forward import PortForward
from .addresses import after_of, hosts_of, refuse_files, refuse_user_alone
from .answers import no_json, not_the_server
from .connections import Certificates, connection_class
from .either import EitherConnection
from .products import ELASTICSEARCH, KnownProduct, Product

PASSING = (
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
)
"""Answers that a cluster (no elected manager, overload) or a proxy in front of it gives for a while."""

MORE_RIGHTS = (
    "Give the user the permissions of roles/opensearch/files/opensearch_role.yml in this collection, or remove the"
    " block it names."
)
"""The remedy for the status 403: a missing permission, or a blocked index."""
MORE_PRIVILEGES = "Give the user a role with the privilege it names, or remove the block it names."
"""The same of Elasticsearch, whose answer names privileges."""

UNSERVED: Mapping[int, str] = {
    HTTPStatus.BAD_REQUEST: "no handler found for uri",
    HTTPStatus.NOT_FOUND: "no such index [_plugins]",
}
"""The answers to a request for a plugin that is not there. The first major version took the path for a document."""

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
        """The servers that have answered; None as long as no answer has shown it."""
        return self._asked.product

    def denial(self, of: str) -> Refusal:
        """The refusal for something that the user may not do."""
        return _denial(self._asked, f"{self._asked.subject} does not allow {of}.")

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
                # Otherwise opensearch-py would ask it again in turn, and the next look would not be answered either.
                self._connection.transport.mark_dead(silent)
            # The name of the host is useful only if it was reached directly.
            where = silent.host if silent is not None and silent.host in self.where else self.where
            fault = ProxyRoute(self.proxy, where, "opensearch.proxy").fault(error.info)
            late = seconds or self._limit.seconds
            raise fault or _unreachable(self._asked, where, error, errors, late) from error
        except errors.TransportError as error:
            raise self._answered(method, path, error) from error
        except (errors.SerializationError, *FOREIGN) as error:
            raise no_json(f"{method} {path}", self.where, error.args[:1]) from error
        if may_be_empty and not answer:
            return {}
        if not isinstance(answer, dict):
            raise no_json(f"{method} {path}", self.where, [answer], "a JSON object")
        self._asked.note_members(answer.get("nodes") if path.startswith("/_nodes") else None)
        return answer

    def _answered(self, method: str, path: str, error: Any) -> Refusal:
        if error.status_code == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
            return ProxyRoute(self.proxy, self.where, "opensearch.proxy").answered(error.status_code)
        return _answered(self._asked, self.where, method, path, error, self._username)


def connect(options: Mapping[str, Any], kubernetes_options: Mapping[str, Any] | None = None) -> OpenSearchClient:
    """A client for the `opensearch` argument; no request is made yet.

    With `after`, each request goes to the connection that has answered last, and to the other one if that fails.
    `kubernetes_options` is the `kubernetes` argument, for `port_forward`.

    Raises:
        Refusal: the package is missing, `hosts` cannot be used, or a certificate file is missing or cannot be read.
    """
    after = after_of(options)
    given: dict[str, Mapping[str, Any]] = {"opensearch": options, **({"opensearch.after": after} if after else {})}
    hosts = [host for name, each in given.items() for host in hosts_of(each, name)]
    library = needed("opensearchpy", "opensearch-py")
    for name, each in given.items():
        refuse_files(each, name)
        refuse_user_alone(each, name)
    forward = _forward(options, kubernetes_options or {})
    shown, asked, limit = Certificates(), KnownProduct(), TimeLimit(float(options.get("request_timeout") or 30))
    connections = []
    for name, each in given.items():
        way = connection_class(partial(_proxy_for, each), forward, limit, shown, asked.note_headers)
        connections.append(_connection(library, each, name, limit, way))
    connection = connections[0] if after is None else EitherConnection(connections, library.exceptions)
    where = [forward.where] if forward else hosts
    client = OpenSearchClient(connection, where, library, limit, options.get("username") or "", shown, asked)
    if forward is None:
        client.proxy = next(filter(None, (_proxy_for(options, host) for host in hosts)), None)
    return client


def _connection(library: ModuleType, options: Mapping[str, Any], name: str, limit: TimeLimit, way: Any) -> Any:
    """The object of opensearch-py for one connection; `name` is its option."""
    hosts = list(options["hosts"])
    username, password = options.get("username"), options.get("password")
    try:
        return library.OpenSearch(
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
            connection_class=way,
        )
    except (OSError, ValueError, library.exceptions.ImproperlyConfigured) as error:
        raise refusal(
            "opensearch_connection_options",
            f"The connection to OpenSearch cannot be set up: {error}.",
            f"Check hosts, ca_cert, client_cert, client_key and proxy under {name}.",
        ) from error


def _proxy_for(options: Mapping[str, Any], url: str) -> Proxy | None:
    return proxy_for(url, options.get("proxy"), options.get("no_proxy"), os.environ)


def _forward(options: Mapping[str, Any], kubernetes_options: Mapping[str, Any]) -> PortForward | None:
    if not options.get("port_forward"):
        return None
    return PortForward(kubernetes.connect(kubernetes_options), options["port_forward"])


def _unreachable(asked: KnownProduct, where: str, error: Any, errors: Any, seconds: float) -> Refusal:
    if isinstance(error, errors.ConnectionTimeout):
        # The connection was made; opensearch-py has an error of its own for that.
        return Unreachable.because(
            "opensearch_unreachable",
            f"{asked.subject} at {where} did not answer within {seconds:g} s.",
            "If this does not pass, see in its log whether that member hangs or is overloaded."
            " opensearch.request_timeout gives it more time.",
        )
    cause = _in_words(error)
    fault = _fault_of_tls(asked, where, cause) if isinstance(error, errors.SSLError) else None
    if fault is not None:
        return fault
    root = _root(error)
    no_connection = isinstance(root, (ConnectionRefusedError, gaierror)) or _is_no_http(root)
    return (NoConnection if no_connection else Unreachable).because(
        "opensearch_unreachable",
        f"{asked.subject} at {where} cannot be reached: {cause}.",
        "Check opensearch.hosts (https:// only where the REST port has TLS), the network path from where Ansible"
        " runs, and that a member is up.",
    )


def _is_no_http(error: BaseException) -> bool:
    """Whether what answers does not speak HTTP. A transport port answers a request with the bytes `This is not an HTTP
    port`, and closes the connection (server source, TcpTransport.onException)."""
    return isinstance(error, BadStatusLine) and not isinstance(error, RemoteDisconnected)


def _fault_of_tls(asked: KnownProduct, where: str, cause: str) -> Refusal | None:
    """The refusal for a fault of TLS; None if the handshake was only broken off, as by a server that starts."""
    if is_of_caller(cause):
        return _caller_refused(asked, where, cause)
    if "certificate" in cause:
        return refusal(
            "opensearch_certificate",
            f"The TLS certificate of {asked.name} at {where} is not accepted: {cause}.",
            certificate_fix(cause, "opensearch.hosts")
            or "Set opensearch.ca_cert to the CA that signed it; opensearch.validate_certs=false turns the check off.",
        )
    if HANDSHAKE_BROKEN_OFF not in cause:
        return refusal(
            "opensearch_tls",
            f"A TLS connection to {asked.name} at {where} cannot be made: {cause}.",
            "Check opensearch.hosts: its port must be the REST port, and without TLS its URL starts with http://.",
        )
    return None


def _caller_refused(asked: KnownProduct, where: str, cause: str) -> Refusal:
    said = f"{asked.subject} at {where} refuses the TLS connection: {cause}."
    remedy = (
        "If it asks for a client certificate, set opensearch.client_cert and opensearch.client_key to one that it"
        " accepts, and that has not expired."
    )
    if "certificate" in cause:
        return refusal("opensearch_certificate", said, remedy)
    return refusal("opensearch_tls", said, remedy)


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


def _denial(asked: KnownProduct, message: str) -> Refusal:
    return refusal("opensearch_rights", message, MORE_RIGHTS if asked.product is not ELASTICSEARCH else MORE_PRIVILEGES)


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
        user = f" the user {username}" if username else ""
        return _denial(asked, f"{asked.subject} at {where} does not allow{user} {method} {path}: {said}.")
    if error.status_code in PASSING:
        return Unreachable.because(
            "opensearch_unavailable",
            f"{asked.subject} at {where} cannot answer {method} {path} now ({error.status_code}): {said}.",
            "If this does not pass, see whether it has an elected manager, and whether its members are overloaded.",
        )
    if HTTPStatus.MULTIPLE_CHOICES <= error.status_code < HTTPStatus.BAD_REQUEST:
        return not_the_server(f"{method} {path}", f"the server at {where} redirects the request ({error.status_code})")
    unserved = error.status_code in UNSERVED and said.startswith(UNSERVED[error.status_code])
    return (NotServed if unserved else Refusal).because(
        "opensearch_answer",
        f"{asked.subject} at {where} answered {error.status_code} to {method} {path}: {said}.",
        "Fix the cause it names and run again."
        if isinstance(_body(error), dict)
        else "Check that opensearch.hosts names the REST port of the cluster (usually 9200): this is no answer of one.",
    )


def _reason(error: Any) -> str:
    """The text of an error, from the server or from a proxy in its place; of a whole page, its start."""
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
