"""A thin client: urllib3 for connections and TLS, plain JSON in and out, every failure one sentence."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from http.client import BadStatusLine, RemoteDisconnected
from socket import gaierror
from typing import Any
from urllib.parse import urlencode

from ...common.connection_pools import Changed, connection_pools, tls_context
from ...common.errors import HANDSHAKE_BROKEN_OFF, NoConnection, NotServed, Refusal, Unreachable, refusal
from ...common.proxies import Proxy, basic, proxy_for
from ...common.proxy_faults import ProxyRoute
from ...common.time_limit import TimeLimit
from ...common.tls_faults import certificate_fix, is_of_caller
from ...kubernetes import client as kubernetes
from ...kubernetes.port_forward import PortForward, forwarded
from .addresses import SCHEMES, after_of, hosts_of, is_https, refuse_files, refuse_user_alone, with_port
from .answers import no_json, not_the_server
from .hosts import (
    PASSING,
    Asked,
    Certificates,
    Host,
    Hosts,
    HttpAnswer,
    Question,
    TwoAddresses,
    Unanswered,
    noting,
)
from .products import ELASTICSEARCH, KnownProduct, Product

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

WEB_PAGE = "text/html"
"""The media type of a web page, which no server of this family sends."""

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
        hosts: Asked,
        names: list[str],
        limit: TimeLimit,
        username: str = "",
        certificates: Certificates | None = None,
        asked: KnownProduct | None = None,
    ) -> None:
        self.certificates: Certificates = {} if certificates is None else certificates
        """Those that the members have shown so far."""
        self._asked = asked or KnownProduct()
        self._hosts = hosts
        self._limit = limit
        self._username = username
        self.where = ", ".join(names)
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
        target = f"{path}?{urlencode(params)}" if params else path
        content = None if body is None else json.dumps(body).encode()
        self._limit.begin(seconds)
        try:
            answer = self._hosts.ask(Question(method, target, content, seconds))
        except Unanswered as error:
            # The name of the host is useful only if it was reached directly.
            where = error.host if error.late and error.host in self.where else self.where
            fault = ProxyRoute(self.proxy, where, "opensearch.proxy").fault(error.cause)
            late = seconds or self._limit.seconds
            raise fault or _unreachable(self._asked, where, error, late) from error
        if not (HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES or answer.status in ignore):
            raise self._answered(method, path, answer)
        if may_be_empty and not answer.content:
            return {}
        found = self._json(f"{method} {path}", answer)
        self._asked.note_members(found.get("nodes") if path.startswith("/_nodes") else None)
        return found

    def _json(self, request: str, answer: HttpAnswer) -> dict[str, Any]:
        if answer.kind.startswith(WEB_PAGE):
            raise no_json(request, self.where, web_page=True)
        try:
            found = json.loads(answer.content)
        except (RecursionError, ValueError) as error:
            raise no_json(request, self.where, web_page=answer.text.lstrip()[:1] == "<") from error
        if not isinstance(found, dict):
            raise no_json(request, self.where, "a JSON object")
        return found

    def _answered(self, method: str, path: str, answer: HttpAnswer) -> Refusal:
        if answer.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
            return ProxyRoute(self.proxy, self.where, "opensearch.proxy").answered(answer.status)
        return _answered(self._asked, self.where, method, path, answer, self._username)


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
    for name, each in given.items():
        refuse_files(each, name)
        refuse_user_alone(each, name)
    forward = _forward(options, kubernetes_options or {})
    shown, asked, limit = Certificates(), KnownProduct(), TimeLimit(float(options.get("request_timeout") or 30))
    changed = partial(_connected, forward=forward, shown=shown)
    addresses = [_address(each, name, limit, changed, asked.note_headers) for name, each in given.items()]
    where = [forward.where] if forward else hosts
    ways: Asked = addresses[0] if after is None else TwoAddresses(addresses)
    client = OpenSearchClient(ways, where, limit, options.get("username") or "", shown, asked)
    if forward is None:
        client.proxy = next(filter(None, (_proxy_for(options, host) for host in hosts)), None)
    return client


def _address(
    options: Mapping[str, Any], name: str, limit: TimeLimit, changed: Changed, note: Callable[[Mapping[str, Any]], None]
) -> Hosts:
    """The hosts of one connection; `name` is its option."""
    username, forwards = options.get("username"), bool(options.get("port_forward"))
    authorization = basic(f"{username}:{options.get('password') or ''}") if username else ""
    hosts = []
    try:
        routes = [(url, None if forwards else _proxy_for(options, url)) for url in options["hosts"]]
        # Without TLS there is nothing to trust, and reading what the machine trusts takes longer than many requests.
        secured = is_https(options) or any(proxy and proxy.url.startswith(SCHEMES[0]) for _url, proxy in routes)
        tls: dict[str, Any] = {"ssl_context": tls_context(options)} if secured else {}
        if options.get("validate_certs", True):
            # The context is for the cluster alone: urllib3 verifies the certificate of a proxy by this file.
            tls["ca_certs"] = options.get("ca_cert")
        for url, proxy in routes:
            pools = connection_pools(limit, proxy, None if proxy else changed, **tls)
            hosts.append(Host(url, pools, limit, authorization, note))
    except (OSError, ValueError) as error:
        raise refusal(
            "opensearch_connection_options",
            f"The connection to OpenSearch cannot be set up: {error}.",
            f"Check hosts, ca_cert, client_cert, client_key and proxy under {name}.",
        ) from error
    return Hosts(hosts)


def _connected(base: Any, forward: PortForward | None, shown: Certificates) -> Any:
    """The class of direct connections: through the Kubernetes API where that is wanted, with certificates noted."""
    return noting(base if forward is None else forwarded(base, forward), shown)


def _proxy_for(options: Mapping[str, Any], url: str) -> Proxy | None:
    return proxy_for(with_port(url), options.get("proxy"), options.get("no_proxy"), os.environ)


def _forward(options: Mapping[str, Any], kubernetes_options: Mapping[str, Any]) -> PortForward | None:
    if not options.get("port_forward"):
        return None
    return PortForward(kubernetes.connect(kubernetes_options), options["port_forward"])


def _unreachable(asked: KnownProduct, where: str, error: Unanswered, seconds: float) -> Refusal:
    if error.late:
        return Unreachable.because(
            "opensearch_unreachable",
            f"{asked.subject} at {where} did not answer within {seconds:g} s.",
            "If this does not pass, see in its log whether that member hangs or is overloaded."
            " opensearch.request_timeout gives it more time.",
        )
    cause = _in_words(error.cause)
    fault = _fault_of_tls(asked, where, cause) if error.tls else None
    if fault is not None:
        return fault
    root = _root(error.cause)
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
        candidates = (getattr(inner, "reason", None), *inner.args[-1:], inner.__cause__)
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


def _answered(asked: KnownProduct, where: str, method: str, path: str, answer: HttpAnswer, username: str) -> Refusal:
    said = _reason(_body(answer))
    if answer.status == HTTPStatus.UNAUTHORIZED:
        return refusal(
            "opensearch_credentials",
            f"{asked.subject} at {where} did not accept the password of the user {username} (401)."
            if username
            else f"{asked.subject} at {where} asks for a user (401), and no username is given.",
            "Check opensearch.username and opensearch.password, or client_cert and client_key.",
        )
    if answer.status == HTTPStatus.FORBIDDEN:
        user = f" the user {username}" if username else ""
        return _denial(asked, f"{asked.subject} at {where} does not allow{user} {method} {path}: {said}.")
    if answer.status in PASSING:
        return Unreachable.because(
            "opensearch_unavailable",
            f"{asked.subject} at {where} cannot answer {method} {path} now ({answer.status}): {said}.",
            "If this does not pass, see whether it has an elected manager, and whether its members are overloaded.",
        )
    if HTTPStatus.MULTIPLE_CHOICES <= answer.status < HTTPStatus.BAD_REQUEST:
        return not_the_server(f"{method} {path}", f"the server at {where} redirects the request ({answer.status})")
    unserved = answer.status in UNSERVED and said.startswith(UNSERVED[answer.status])
    return (NotServed if unserved else Refusal).because(
        "opensearch_answer",
        f"{asked.subject} at {where} answered {answer.status} to {method} {path}: {said}.",
        "Fix the cause it names and run again."
        if isinstance(_body(answer), dict)
        else "Check that opensearch.hosts names the REST port of the cluster (usually 9200): this is no answer of one.",
    )


def _reason(found: Any) -> str:
    """The text of an error, from the server or from a proxy in its place; of a whole page, its start."""
    if isinstance(found, dict):
        found = found.get("error") or found
    if isinstance(found, dict):
        roots = found.get("root_cause")
        inner = [each for each in (roots[:1] if isinstance(roots, list) else ()) if isinstance(each, dict)]
        words = [each.get("reason") for each in (*inner, found)] + [found.get(name) for name in OTHER_WORDS]
        found = next((each for each in words if isinstance(each, str) and each), None)
    said = " ".join(found.split()) if isinstance(found, str) else ""
    return said[:LONGEST_REASON].rstrip(".") or "it does not say why"


def _body(answer: HttpAnswer) -> Any:
    """The body of an error: JSON, or its text."""
    try:
        return json.loads(answer.content)
    except (RecursionError, ValueError):
        return answer.text
