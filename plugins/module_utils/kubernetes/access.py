"""The address of the Kubernetes API and the credentials for it. The package `kubernetes` only reads configurations."""

from __future__ import annotations

import binascii
import logging
import os
import re
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from ..common.credentials import judge_exposure, refuse_in_address, refuse_no_url, sendable
from ..common.errors import Refusal, refusal
from ..common.packages import needed
from ..common.proxies import Proxy, is_spared, proxy_for
from ..common.proxy_faults import ProxyRoute
from ..common.verdict import Verdict
from .identity import EnvironmentIdentity, Impersonation, from_environment, impersonated_by
from .kubeconfig import Chosen, choose, unusable
from .tls import AUTHORITY, CERTIFICATE, KEY, tls_of

PACKAGE = "kubernetes"
DEFAULT_KUBECONFIG = "~/.kube/config"

NO_LABELS = {
    AUTHORITY: "the CA certificate",
    CERTIFICATE: "the client certificate of the credential plugin",
    KEY: "the client key of the credential plugin",
}
"""The words for files whose place is not known."""

_QUOTED = re.compile(r"[\[{].*[\]}]", re.DOTALL)
"""A part of a kubeconfig in an error of the package, which quotes the surroundings of a fault to say where it is."""

_ONE_AT_A_TIME = threading.Lock()
"""The package keeps its files in one memory for the whole process."""


class Access:
    """A connection pool for one API server, and the credentials that go with each request.

    No connection is made before the first request.
    """

    def __init__(
        self,
        configuration: Any,
        proxy: Proxy | None = None,
        impersonation: Impersonation | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        self.host = str(configuration.host).rstrip("/")
        self._configuration = configuration
        self._proxy = proxy
        self.way = ProxyRoute(proxy, self.host, "kubernetes.proxy")
        """The proxy, for refusals."""
        self.impersonated = impersonation.headers() if impersonation else ()
        """The headers that name the user in whose place requests are made; some may be repeated."""
        # The package puts back the value of the kubeconfig whenever it looks at the token.
        self._verified = bool(configuration.verify_ssl)
        urllib3 = needed("urllib3", "urllib3")
        if not configuration.verify_ssl:
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        self.pool = needed("kubernetes.client.rest", PACKAGE).RESTClientObject(configuration).pool_manager
        self.pool.connection_pool_kw["ssl_context"] = tls_of(
            configuration, urllib3.util.ssl_.create_urllib3_context(), labels or NO_LABELS
        )
        for file in ("ca_certs", "cert_file", "key_file"):
            self.pool.connection_pool_kw.pop(file, None)

    def websocket(self, path: str, protocol: str, agent: str, timeout: float) -> Any:
        """A websocket to a path of the API server, with the same TLS, credentials and proxy as every request.

        Raises:
            OSError, websocket.WebSocketException: it cannot be opened.
        """
        keywords = self.pool.connection_pool_kw
        tls = {"context": keywords["ssl_context"], "check_hostname": keywords["ssl_context"].check_hostname}
        if keywords.get("server_hostname"):
            tls["server_hostname"] = keywords["server_hostname"]
        # With no proxy at all, the package would take one from the environment.
        way: dict[str, Any] = {"http_proxy_host": "none", "http_no_proxy": ["*"]}
        if self._proxy is not None:
            way = {"http_proxy_host": self._proxy.host, "http_proxy_port": self._proxy.port, "http_no_proxy": ["-"]}
            if self._proxy.credentials:
                way["http_proxy_auth"] = tuple(self._proxy.credentials.split(":", 1))
        channels = needed("websocket", "websocket-client").create_connection(
            self.host.replace("http", "ws", 1) + path,
            timeout=timeout,
            sslopt=tls,
            header=[
                f"{name}: {value}"
                for name, value in (("User-Agent", agent), *self.headers().items(), *self.impersonated)
            ],
            subprotocols=[protocol],
            suppress_origin=True,
            **way,
        )
        channels.settimeout(None)
        return channels

    def headers(self) -> dict[str, str]:
        """The headers that carry the credentials; a token that is about to expire is renewed by the package.

        Raises:
            Refusal: the token cannot be sent.
        """
        settings = self._configuration.auth_settings().values()
        return {setting["key"]: sendable(setting["value"]) for setting in settings if setting["in"] == "header"}

    def judge(self) -> Verdict:
        """A remark if someone on the network could read the credentials."""
        sent = "The token for the Kubernetes API" if self.headers() else ""
        return judge_exposure(sent, self.host, self._verified)


def access(options: Mapping[str, Any]) -> Access:
    """The access described by the `kubernetes` argument.

    An explicit `host` (with or without `api_key`) is used alone unless `kubeconfig` or `context` is given too;
    otherwise the kubeconfig named, else the user's own, else the pod's service account: the order in which kubectl
    looks. `host`, `api_key`, `ca_cert`, `proxy` and `validate_certs: false` override the kubeconfig, and its
    `proxy-url` overrides the environment.

    Raises:
        Refusal: the package is missing, no address of the API is given, or the configuration cannot be used.
    """
    library = needed(PACKAGE, PACKAGE)
    configuration = library.client.Configuration()
    # The variables that the package takes from the environment differ from version to version.
    configuration.proxy = configuration.no_proxy = None
    given = from_environment(os.environ)
    with _own_files() as folder:
        try:
            chosen = _load(library, configuration, options, folder, saves=given.saves)
            _override(configuration, options, given)
            refuse_in_address(
                str(configuration.host), "the Kubernetes API", "kubernetes.api_key or the kubeconfig's user"
            )
            option = "kubernetes.host" if options.get("host") else "the kubeconfig"
            refuse_no_url(str(configuration.host), str(options.get("host") or configuration.host), option)
            impersonation = given.impersonation or (impersonated_by(chosen.user) if chosen else None)
            labels = _labels(chosen, options, given)
            return Access(configuration, _take_way(configuration, options), impersonation, labels)
        except Refusal:
            raise
        except Exception as error:  # the package raises many kinds: files, plugins, base64
            raise unusable(str(options.get("kubeconfig") or DEFAULT_KUBECONFIG), _cause(error)) from error


@contextmanager
def _own_files() -> Iterator[str]:
    """A folder for the files that the package makes of a kubeconfig's keys and certificates; it is removed at the end.

    The package would keep the files until atexit, which Ansible's forked workers never reach, and it remembers them by
    content. Here it forgets the files of this folder, and keeps those of other clients in this process.
    """
    memory: dict[str, str] = getattr(needed("kubernetes.config.kube_config", PACKAGE), "_temp_files", {})
    with _ONE_AT_A_TIME:
        before = dict(memory)
        memory.clear()
        try:
            with tempfile.TemporaryDirectory(prefix="stateful-upgrade-") as folder:
                yield folder
        finally:
            memory.clear()
            memory.update(before)


def _load(library: Any, configuration: Any, options: Mapping[str, Any], folder: str, *, saves: bool) -> Chosen | None:
    """Set the address and the credentials. The result is the context of a kubeconfig; None if none is used."""
    kubeconfig, context = options.get("kubeconfig"), options.get("context")
    if options.get("host") and not kubeconfig and not context:
        return None
    if kubeconfig or context or os.path.exists(os.path.expanduser(DEFAULT_KUBECONFIG)):
        chosen = choose(kubeconfig or DEFAULT_KUBECONFIG, context, needs_user=not options.get("api_key"))
        _load_chosen(configuration, chosen, folder, saves=saves, needs_user=not options.get("api_key"))
        return chosen
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        _load_account(library, configuration)
        return None
    raise refusal(
        "kubernetes_not_configured",
        "No address of the Kubernetes API is given: there is no kubeconfig and no host, and this is not a pod.",
        "Set kubernetes.kubeconfig (or K8S_AUTH_KUBECONFIG), or kubernetes.host and kubernetes.api_key.",
    )


def _load_chosen(configuration: Any, chosen: Chosen, folder: str, *, saves: bool, needs_user: bool) -> None:
    config = needed("kubernetes.config.kube_config", PACKAGE)
    user, problems = chosen.user, _Problems()
    loader = config.KubeConfigLoader(
        config_dict=config.ConfigNode("kube-config", chosen.as_config()),
        config_base_path="",
        config_persister=chosen.save if saves else None,
        temp_file_path=folder,
    )
    try:
        with problems:
            loader.load_and_set(configuration)
    except Exception as error:
        if "auth-provider" not in user.content:
            raise
        raise user.fault("auth-provider", f"gives no token ({_cause(error)})") from None
    # Most versions of the package do not read it.
    configuration.proxy = chosen.cluster.content.get("proxy-url") or None
    if user.content.get("tokenFile"):
        configuration.refresh_api_key_hook = _TokenFile(user.content["tokenFile"]).put_into
    if not needs_user or configuration.api_key or configuration.cert_file:
        return
    if problems.said:
        raise refusal(
            "kubernetes_credential_plugin",
            f"The credential plugin of the kubeconfig {user.file} failed: {'; '.join(problems.said)}.",
            "Run the plugin by hand as the user that runs Ansible, or give kubernetes.api_key.",
        )
    if "auth-provider" in user.content:
        raise user.fault("auth-provider", "gives no token: it has none that is valid")


class _TokenFile:
    """A token that something else replaces in its file, such as a projected one."""

    def __init__(self, path: str) -> None:
        self._path = path

    def put_into(self, configuration: Any) -> None:
        """Read the token again. As long as its file cannot be read, the last one counts."""
        with suppress(OSError), open(self._path, encoding="utf-8") as file:
            configuration.api_key["BearerToken"] = f"Bearer {file.read().strip()}"


def _labels(chosen: Chosen | None, options: Mapping[str, Any], given: EnvironmentIdentity) -> dict[str, str]:
    """The words for the files of a connection, by what they are for."""
    labels = dict(NO_LABELS)
    if chosen:
        named = (
            (AUTHORITY, chosen.cluster, "certificate-authority"),
            (CERTIFICATE, chosen.user, "client-certificate"),
            (KEY, chosen.user, "client-key"),
        )
        labels |= {kind: entry.label(name) for kind, entry, name in named if entry.holds(name)}
    if options.get("ca_cert"):
        labels[AUTHORITY] = f"{options['ca_cert']} (kubernetes.ca_cert)"
    if given.cert_file:
        labels[CERTIFICATE] = f"{given.cert_file} (K8S_AUTH_CERT_FILE)"
        labels[KEY] = f"{given.key_file} (K8S_AUTH_KEY_FILE)"
    return labels


def _load_account(library: Any, configuration: Any) -> None:
    """The pod's service account. The package reads its token anew once a minute, since Kubernetes replaces it."""
    try:
        library.config.load_incluster_config(client_configuration=configuration)
    except (OSError, library.config.ConfigException) as error:
        raise refusal(
            "kubernetes_configuration",
            f"The service account of this pod cannot be used: {str(error).strip().rstrip('.')}.",
            "Give the pod an account with the Role (serviceAccountName), and let Kubernetes mount its token"
            " (automountServiceAccountToken); or set kubernetes.kubeconfig.",
        ) from error


def _override(configuration: Any, options: Mapping[str, Any], given: EnvironmentIdentity) -> None:
    host = options.get("host")
    if host:
        configuration.host = host if "://" in host else f"https://{host}"
    if options.get("api_key"):
        configuration.refresh_api_key_hook = None
        configuration.api_key = {"authorization": f"Bearer {str(options['api_key']).strip()}"}
    if given.cert_file or given.key_file:
        configuration.cert_file, configuration.key_file = given.cert_file or None, given.key_file or None
    if options.get("ca_cert"):
        if not os.path.isfile(options["ca_cert"]):
            raise refusal(
                "kubernetes_ca_missing",
                f"The file {options['ca_cert']} (kubernetes.ca_cert) does not exist.",
                "Give the file that holds the CA certificate of the Kubernetes API.",
            )
        configuration.ssl_ca_cert = options["ca_cert"]
        # A user who gives a CA wants the certificate checked, whatever the kubeconfig says (insecure-skip-tls-verify).
        configuration.verify_ssl = True
    if options.get("validate_certs") is False:
        configuration.verify_ssl = False
        configuration.assert_hostname = False


def _take_way(configuration: Any, options: Mapping[str, Any]) -> Proxy | None:
    """Set the proxy of the configuration, and return it. A SOCKS proxy is left to the package."""
    given, spared = options.get("proxy") or configuration.proxy, options.get("no_proxy")
    if given and str(given).startswith("socks"):
        if is_spared(urlsplit(configuration.host).hostname or "", None, spared or ""):
            configuration.proxy = None
        return None
    try:
        proxy = proxy_for(configuration.host, given, spared, os.environ)
    except ValueError as error:
        raise refusal(
            "kubernetes_configuration",
            f"The proxy for the Kubernetes API cannot be used: {error}.",
            "Correct kubernetes.proxy, the proxy-url of the kubeconfig, or HTTPS_PROXY in the environment.",
        ) from None
    configuration.proxy = proxy.url if proxy else None
    if proxy and proxy.credentials:
        configuration.proxy_headers = proxy.headers()
    return proxy


def _cause(error: Exception) -> str:
    """The fault of a configuration, without quoting any part of it, since that could be a secret.

    Errors of the package quote the whole entry in which something is missing (a user with
    its refresh token, a plugin with its environment). Errors of Python may quote a character of a password.
    """
    if isinstance(error, (OSError, binascii.Error, needed("kubernetes.config", PACKAGE).ConfigException)):
        return _unquoted(str(error))
    return f"a part of it is not what belongs there ({type(error).__name__})"


def _unquoted(text: str) -> str:
    """A text of the package without the parts of the kubeconfig. The text of a credential plugin stays as it is."""
    return (_QUOTED.sub("…", text) if "kube-config" in text else text).strip().rstrip(".")


class _Problems(logging.Handler):
    """Collects the errors that the package only logs when a credential plugin fails, to go on without credentials."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []

    def __enter__(self) -> None:
        logging.getLogger().addHandler(self)

    def __exit__(self, *_exception: object) -> None:
        logging.getLogger().removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(_unquoted(record.getMessage()))
