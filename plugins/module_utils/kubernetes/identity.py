"""The user of a connection to the API server: impersonation, and variables of kubernetes.core that are no options.

Pure. Impersonation is made of headers, which the package `kubernetes` does not send
(https://kubernetes.io/docs/reference/access-authn-authz/authentication/, "User impersonation").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from ..common.errors import Refusal, refusal
from .kubeconfig import KubeconfigEntry

PREFIX = "K8S_AUTH_"
READ = {
    "CERT_FILE": "cert_file",
    "CLIENT_CERT": "cert_file",
    "KEY_FILE": "key_file",
    "CLIENT_KEY": "key_file",
    "IMPERSONATE_USER": "user",
    "IMPERSONATE_GROUPS": "groups",
    "PERSIST_CONFIG": "saves",
}
"""The variables that are read here, by their names behind the prefix; kubernetes.core takes both names of a file."""
_NO_BASIC = "API servers take no password since Kubernetes 1.19. Unset it, and give a token with K8S_AUTH_API_KEY."
_PROXY = "Unset it, and write the credentials for the proxy into its URL (K8S_AUTH_PROXY)."
REFUSED = {
    "USERNAME": _NO_BASIC,
    "PASSWORD": _NO_BASIC,
    "PROXY_HEADERS_PROXY_BASIC_AUTH": _PROXY,
    "PROXY_HEADERS_BASIC_AUTH": _PROXY,
    "PROXY_HEADERS_USER_AGENT": "Unset it: requests say that they come from stateful.upgrade.",
}
"""The variables of kubernetes.core that are refused, each with its remedy."""
_HEADER_CHARACTERS = "!#$&'*+-.^_`|~"
_FALSE = ("0", "false", "no")
"""The words for no, as kubernetes.core reads them (plugins/module_utils/k8s/client.py)."""


@dataclass(frozen=True)
class Impersonation:
    """The user in whose place requests are made."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, str], ...] = ()

    def headers(self) -> tuple[tuple[str, str], ...]:
        """The headers, some of which may be repeated. Names are in UTF-8, as client-go sends them."""
        named = [("Impersonate-User", self.user), *([("Impersonate-Uid", self.uid)] if self.uid else [])]
        named += [("Impersonate-Group", each) for each in self.groups]
        named += [(f"Impersonate-Extra-{quote(key, safe=_HEADER_CHARACTERS)}", value) for key, value in self.extra]
        return tuple((name, value.encode().decode("latin-1")) for name, value in named)


@dataclass(frozen=True)
class EnvironmentIdentity:
    """The part of a connection that only the environment gives."""

    cert_file: str = ""
    key_file: str = ""
    impersonation: Impersonation | None = None
    saves: bool = True
    """Whether a token that was renewed is written into the kubeconfig."""


def from_environment(environment: Mapping[str, str]) -> EnvironmentIdentity:
    """The variables of kubernetes.core that are no options of this collection. An empty one counts as not given.

    Raises:
        Refusal: there is one that cannot be obeyed.
    """
    for name, remedy in REFUSED.items():
        if environment.get(PREFIX + name):
            said = f"The environment variable {PREFIX}{name} is set, and this collection does not use it."
            raise refusal("kubernetes_variable_unused", said, remedy)
    found: dict[str, str] = {}
    for name, meaning in READ.items():
        found.setdefault(meaning, environment.get(PREFIX + name) or "")
        found[meaning] = found[meaning] or environment.get(PREFIX + name) or ""
    groups = [each.strip() for each in found["groups"].split(",") if each.strip()]
    where = f"{PREFIX}IMPERSONATE_USER or {PREFIX}IMPERSONATE_GROUPS in the environment"
    saves = found["saves"].lower() not in _FALSE
    return EnvironmentIdentity(
        found["cert_file"], found["key_file"], _impersonation(where, found["user"], "", groups, ()), saves
    )


def impersonated_by(user: KubeconfigEntry) -> Impersonation | None:
    """The user whom the user of a kubeconfig impersonates.

    Raises:
        Refusal: what it says cannot be sent.
    """
    content = user.content
    groups, extra = content.get("as-groups") or [], content.get("as-user-extra") or {}
    if not _are_texts(groups):
        raise user.fault("as-groups", "is no list of texts")
    if not isinstance(extra, dict) or not all(isinstance(key, str) and _are_texts(extra[key]) for key in extra):
        raise user.fault("as-user-extra", "does not map each name to a list of texts")
    pairs = tuple((key, value) for key in sorted(extra) for value in extra[key])
    where = f"user {user.name} in the kubeconfig {user.file}"
    return _impersonation(where, content.get("as") or "", content.get("as-uid") or "", groups, pairs)


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(each, str) for each in values)


def _impersonation(
    where: str, user: str, uid: str, groups: Iterable[str], extra: tuple[tuple[str, str], ...]
) -> Impersonation | None:
    wanted = Impersonation(user, uid, tuple(groups), extra)
    if not user and (uid or wanted.groups or extra):
        raise _wrong(where, "names no user, and an API server takes groups, a UID and other marks only with one")
    if not all(value.isprintable() for value in (user, uid, *wanted.groups, *(value for _key, value in extra))):
        raise _wrong(where, "names something with a line break or another character that no header has")
    return wanted if user else None


def _wrong(where: str, what: str) -> Refusal:
    return refusal(
        "kubernetes_impersonation", f"The impersonation of {where} {what}.", "Correct it, or leave impersonation out."
    )
