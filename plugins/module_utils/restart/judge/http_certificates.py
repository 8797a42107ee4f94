"""Whether members could open their REST port with TLS: the files that their new configuration names. Pure.

A server with TLS needs a certificate and its key, as PEM files or in a keystore (OpenSearch documentation, Configuring
TLS certificates; guide of Elasticsearch, Security settings), else it does not start. Relative paths start in the folder
of the configuration. A key is not compared with its certificate, and no signature is verified: the first member that
restarts shows that, before the next one goes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from ipaddress import ip_address
from posixpath import join, normpath
from urllib.parse import urlsplit

from ...common.verdict import Reason, as_verdict, refused, remark
from ...common.words import enumerate_few
from ...opensearch.observe.certificates import CertificateDetails, first_in_pem
from ..observe.pod_spec import Mount, SchemeOfProbe, at
from .settings_table import SettingChanges

_KEY = "PRIVATE KEY-----"
_PLUGIN = ("plugins.security.ssl.http.", "opendistro_security.ssl.http.")
_X_PACK = "xpack.security.http.ssl."
CERTIFICATES = (*(f"{each}pemcert_filepath" for each in _PLUGIN), f"{_X_PACK}certificate")
KEYS = (*(f"{each}pemkey_filepath" for each in _PLUGIN), f"{_X_PACK}key")
STORES = (*(f"{each}keystore_filepath" for each in _PLUGIN), f"{_X_PACK}keystore.path")
AUTHORITIES = (
    *(f"{each}pemtrustedcas_filepath" for each in _PLUGIN),
    *(f"{each}truststore_filepath" for each in _PLUGIN),
    f"{_X_PACK}truststore.path",
)
REST = "9200"
"""The REST port, unless http.port says otherwise."""
_RENEW = "Renew it, or name another one, and run again."


@dataclass(frozen=True)
class ServerFile:
    """One file of a server, as its setting names it, and the place that its pods mount there."""

    pool: str
    setting: str
    path: str
    secret: str = ""
    """The Secret that is mounted there; empty if it is another volume, or none."""
    key: str = ""
    why_unseen: str = ""
    """Why it cannot be looked at; empty if it is in a Secret."""


@dataclass(frozen=True)
class FileContents:
    """The Secrets that files are in: all keys of each; None for one that is not there. Contents are in no text."""

    found: Mapping[str, Mapping[str, bytes] | None] = field(repr=False)
    denied: frozenset[str] = frozenset()
    """Those that the user may not read."""


def files_of(pool: str, settings: Mapping[str, str], mounts: tuple[Mount, ...], folder: str) -> tuple[ServerFile, ...]:
    """The files that a configuration names for TLS at the REST port. `folder` is that of the configuration."""
    names = (*CERTIFICATES, *KEYS, *STORES, *AUTHORITIES)
    return tuple(_file(pool, name, settings[name], mounts, folder) for name in names if settings.get(name))


def _file(pool: str, setting: str, given: str, mounts: tuple[Mount, ...], folder: str) -> ServerFile:
    if "${" in given:
        return ServerFile(pool, setting, given, why_unseen="its path depends on a variable")
    path = normpath(join(folder, given))
    mount = at(mounts, path)
    if mount is None:
        return ServerFile(pool, setting, path, why_unseen="no volume is mounted there, so it is that of the image")
    if len(mount.sources) != 1 or mount.sources[0][0] != "secret":
        return ServerFile(pool, setting, path, why_unseen=f"a volume of the kind {mount.kind} is mounted there")
    key = path.rpartition("/")[2] if mount.by_sub_path else path[len(mount.path) :].lstrip("/")
    secret = mount.sources[0][1]
    if not mount.shows(secret, [key]):
        return ServerFile(pool, setting, path, why_unseen=f"the volume at {mount.path} gives files other names")
    return ServerFile(pool, setting, path, secret, key)


@as_verdict
def judge_given(pool: str, settings: Mapping[str, str]) -> Iterator[Reason]:
    """A refusal of a configuration that turns TLS on and names no certificate, with which no server starts."""
    if not any(settings.get(name) for name in (*CERTIFICATES, *STORES)):
        named = CERTIFICATES[-1] if any(name.startswith("xpack.") for name in settings) else CERTIFICATES[0]
        yield refused(
            "http_certificate_not_given",
            f"The new configuration of pool {pool} turns TLS on at the REST port and names no certificate for it.",
            f"Give {named} and its key, or a keystore.",
        )


@as_verdict
def judge_on_hosts(changes: SettingChanges) -> Iterator[Reason]:
    """A remark where hosts are to have TLS at the REST port: their files are not looked into."""
    if any(each.scheme == "https" for each in changes.changes):
        yield remark(
            "http_certificates_unseen",
            "The certificates for TLS at the REST port are on the hosts and were not looked into.",
            "Look at them by hand. The first member that restarts shows whether they can be used.",
        )


@as_verdict
def judge_probes_ask(
    pool: str, scheme: str, settings: Mapping[str, str], probes: Iterable[SchemeOfProbe]
) -> Iterator[Reason]:
    """Refusals of probes that ask the REST port by the former scheme: their pods would never be Ready again."""
    rest = settings.get("http.port", REST)
    for each in probes:
        if each.scheme != scheme and (each.port is None or str(each.port) == rest):
            yield refused(
                "probe_of_other_scheme",
                f"The {each.kind} of pool {pool} asks by {each.scheme}, and its members will answer by {scheme}: their"
                " pods would not be Ready any more.",
                "Make it a tcpSocket, which fits both, in a run of its own; or change the probe in the pod template"
                " together with this change, which replaces the pods.",
            )


@as_verdict
def judge_files(
    files: Collection[ServerFile], contents: FileContents, hosts: Iterable[str], now: datetime, *, checks_names: bool
) -> Iterator[Reason]:
    """Whether the files are there, and certificates are valid and name the new addresses.

    `hosts` are the URLs of these; `checks_names` says whether the run verifies certificates.
    """
    shown: list[CertificateDetails] = []
    unseen = [f"{each.path} ({each.why_unseen})" for each in files if each.why_unseen]
    unseen += [
        f"{each.path} (no right to get Secret {each.secret})" for each in files if each.secret in contents.denied
    ]
    for each in files:
        if each.why_unseen or each.secret in contents.denied:
            continue
        content = (contents.found.get(each.secret) or {}).get(each.key)
        if content is None:
            yield _missing(each, there=contents.found.get(each.secret) is not None)
        elif each.setting in CERTIFICATES:
            yield from _judge_certificate(each, content, now, shown)
        elif each.setting in KEYS and _KEY not in content.decode("ascii", "replace"):
            yield _unreadable(each, "a private key")
    unseen += [f"{each.path} (a keystore)" for each in files if each.setting in STORES and each.secret]
    if checks_names and shown and not unseen:
        yield from _judge_names(hosts, shown)
    if unseen:
        yield remark(
            "http_certificates_unseen",
            f"Of the files for TLS at the REST port these were not looked into: {'; '.join(dict.fromkeys(unseen))}.",
            "Look at them by hand. The first member that restarts shows whether they can be used.",
        )


def _missing(file: ServerFile, *, there: bool) -> Reason:
    what = f"Secret {file.secret} has no key {file.key}" if there else f"there is no Secret {file.secret}"
    return refused(
        "http_certificate_missing",
        f"The new configuration of pool {file.pool} names {file.path} ({file.setting}), and {what}.",
        "Make the Secret with that key, or correct the path. It has to be in the pods before they restart.",
    )


def _unreadable(file: ServerFile, kind: str) -> Reason:
    return refused(
        "http_certificate_unreadable",
        f"{file.path} of pool {file.pool} ({file.setting}: key {file.key} of Secret {file.secret}) holds no {kind} in"
        " PEM.".replace("no a ", "no "),
        "Put the right file there.",
    )


def _judge_certificate(
    file: ServerFile, content: bytes, now: datetime, shown: list[CertificateDetails]
) -> Iterator[Reason]:
    """Whether the first certificate of a file is one, and is valid now."""
    try:
        details = first_in_pem(content)
    except ValueError:
        yield _unreadable(file, "a certificate")
        return
    shown.append(details)
    whose = f"The certificate {file.path} of pool {file.pool} (Secret {file.secret})"
    if details.ends <= now:
        yield refused("http_certificate_not_valid", f"{whose} ended at {details.ends:%Y-%m-%d %H:%M} UTC.", _RENEW)
    elif details.begins > now:
        yield refused(
            "http_certificate_not_valid", f"{whose} is valid from {details.begins:%Y-%m-%d %H:%M} UTC on.", _RENEW
        )


def _judge_names(hosts: Iterable[str], shown: Collection[CertificateDetails]) -> Iterator[Reason]:
    names = {name for each in shown for name in each.names}
    called = sorted({str(urlsplit(host).hostname or "") for host in hosts})
    if strange := [host for host in called if not any(_is_for(name, host) for name in names)]:
        yield refused(
            "http_certificate_of_other_name",
            f"The certificates for the REST port are for {enumerate_few(sorted(names)) or 'no name'}, and not for"
            f" {enumerate_few(strange)}, at which restarted members are asked.",
            "Give addresses with these names (opensearch.after.hosts), or certificates for the names of the addresses.",
        )


def _is_for(name: str, host: str) -> bool:
    """Whether a certificate with this name serves a host (RFC 6125: a wildcard is one whole label, the first one)."""
    try:
        return ip_address(name) == ip_address(host)
    except ValueError:
        pass
    first, _dot, rest = name.lower().partition(".")
    if first == "*":
        return bool(rest) and host.lower().partition(".")[2] == rest
    return name.lower() == host.lower()
