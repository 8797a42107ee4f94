"""The users, by bearer token, and the requests that roles allow them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tests.sandbox.kubernetes.kinds import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    ROLE_BINDINGS,
    ROLES,
    SERVICE_ACCOUNTS,
)
from tests.sandbox.kubernetes.objects import Json, Refused
from tests.sandbox.kubernetes.store import Store

MASTERS = "system:masters"
_ACCOUNT = "system:serviceaccount"
_OPEN_PATHS = ("/api", "/apis", "/healthz", "/livez", "/openapi", "/readyz", "/version")
_OWN_QUESTIONS = frozenset({"selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews"})


@dataclass(frozen=True)
class User:
    """A user that the server knows."""

    name: str
    groups: tuple[str, ...] = ("system:authenticated",)


ADMIN = User("admin", (MASTERS, "system:authenticated"))


@dataclass(frozen=True)
class Attributes:
    """A request in the words of a rule."""

    verb: str
    group: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def whole_resource(self) -> str:
        """With its subresource, as rules write it."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


class Rights:
    """Users and what they may."""

    def __init__(self, store: Store, users: Mapping[str, User]) -> None:
        self._store = store
        self.users = dict(users)
        """By token."""
        self._accounts: dict[str, tuple[str, str, str]] = {}

    def user_of(self, authorization: str) -> User:
        """The user of this header. Raises Refused (401) for a token that is not known; no one is anonymous here."""
        kind, _space, token = authorization.partition(" ")
        if not authorization:
            return User("system:anonymous", ("system:unauthenticated",))
        if kind.lower() == "bearer" and token in self.users:
            return self.users[token]
        if kind.lower() == "bearer" and token in self._accounts:
            namespace, name, uid = self._accounts[token]
            account = self._store.kept(SERVICE_ACCOUNTS, namespace, name)
            if account is not None and account["metadata"]["uid"] == uid:
                return account_user(namespace, name)
        raise Refused(401, "Unauthorized", "Unauthorized")

    def token_for(self, account: Json) -> str:
        """A new token of a service account; it ends with the account."""
        metadata = account["metadata"]
        token = f"{metadata['namespace']}.{metadata['name']}.{len(self._accounts)}.{metadata['uid']}"
        self._accounts[token] = (metadata["namespace"], metadata["name"], metadata["uid"])
        return token

    def demand(self, user: User, wanted: Attributes) -> None:
        """Raises Refused (403) where a user may not."""
        if self.allows(user, wanted):
            return
        resource = f"{wanted.resource}.{wanted.group}" if wanted.group else wanted.resource
        where = f'in the namespace "{wanted.namespace}"' if wanted.namespace else "at the cluster scope"
        named = f'{resource} "{wanted.name}"' if wanted.name else resource
        message = (
            f'{named} is forbidden: User "{user.name}" cannot {wanted.verb} resource "{wanted.whole_resource}" '
            f'in API group "{wanted.group}" {where}'
        )
        details = {"name": wanted.name, "group": wanted.group, "kind": wanted.resource}
        raise Refused(403, "Forbidden", message, {key: value for key, value in details.items() if value})

    def demand_creation(self, user: User, wanted: Attributes) -> None:
        """The same for the right to create, which a websocket needs, too; no cause is given."""
        if not self.allows(user, replace(wanted, verb="create")):
            details = {"name": wanted.name, "kind": wanted.resource}
            raise Refused(403, "Forbidden", f'{wanted.resource} "{wanted.name}" is forbidden: ', details)

    def demand_path(self, user: User, verb: str, path: str) -> None:
        """The same for what is no resource."""
        if "system:authenticated" in user.groups and path.startswith(_OPEN_PATHS):
            return
        if path in {"/healthz", "/livez", "/readyz", "/version"}:
            return
        message = f'forbidden: User "{user.name}" cannot {verb} path "{path}"'
        raise Refused(403, "Forbidden", message)

    def allows(self, user: User, wanted: Attributes) -> bool:
        """Whether a role gives it."""
        if MASTERS in user.groups:
            return True
        if wanted.resource in _OWN_QUESTIONS and wanted.verb == "create" and "system:authenticated" in user.groups:
            return True
        return any(_covers(rule, wanted) for rule in self.rules(user, wanted.namespace))

    def rules(self, user: User, namespace: str) -> Iterator[Json]:
        """All rules that hold for a user in a namespace, or in the whole cluster."""
        for binding in self._store.each(CLUSTER_ROLE_BINDINGS):
            if _binds(binding, user, ""):
                yield from self._rules_of(binding, "")
        if namespace:
            for binding in self._store.each(ROLE_BINDINGS, namespace):
                if _binds(binding, user, namespace):
                    yield from self._rules_of(binding, namespace)

    def _rules_of(self, binding: Json, namespace: str) -> list[Json]:
        reference = binding["roleRef"]
        kind = ROLES if reference["kind"] == "Role" else CLUSTER_ROLES
        role = self._store.kept(kind, namespace if kind is ROLES else "", reference["name"])
        return list((role or {}).get("rules") or [])


def account_user(namespace: str, name: str) -> User:
    """A service account as a user."""
    groups = (f"{_ACCOUNT}s", f"{_ACCOUNT}s:{namespace}", "system:authenticated")
    return User(f"{_ACCOUNT}:{namespace}:{name}", groups)


def _binds(binding: Json, user: User, namespace: str) -> bool:
    for subject in binding.get("subjects") or []:
        name = subject["name"]
        if subject["kind"] == "User" and name == user.name:
            return True
        if subject["kind"] == "Group" and name in user.groups:
            return True
        if subject["kind"] == "ServiceAccount":
            account = f"{_ACCOUNT}:{subject.get('namespace', namespace)}:{name}"
            if account == user.name:
                return True
    return False


def _covers(rule: Json, wanted: Attributes) -> bool:
    resources = rule.get("resources") or []
    named = {wanted.whole_resource, "*"} | ({f"*/{wanted.subresource}"} if wanted.subresource else set())
    names = rule.get("resourceNames") or []
    return (
        bool({wanted.verb, "*"} & set(rule.get("verbs") or []))
        and bool({wanted.group, "*"} & set(rule.get("apiGroups") or []))
        and bool(named & set(resources))
        and (not names or wanted.name in names)
    )
