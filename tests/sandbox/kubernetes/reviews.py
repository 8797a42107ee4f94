"""Questions that are posted and never kept: may a user do this, who am I, and a token for an account."""

from __future__ import annotations

from tests.sandbox.kubernetes.kinds import SERVICE_ACCOUNTS
from tests.sandbox.kubernetes.objects import Json, Refused, copied, timestamp
from tests.sandbox.kubernetes.requests import Target
from tests.sandbox.kubernetes.resources import Resources
from tests.sandbox.kubernetes.rights import Attributes, Rights, User, account_user

_AUTHORIZATION = "authorization.k8s.io"
_KINDS = {
    "selfsubjectaccessreviews": "SelfSubjectAccessReview",
    "subjectaccessreviews": "SubjectAccessReview",
    "localsubjectaccessreviews": "LocalSubjectAccessReview",
    "selfsubjectrulesreviews": "SelfSubjectRulesReview",
    "selfsubjectreviews": "SelfSubjectReview",
}
_HOUR = 3600


def is_review(target: Target) -> bool:
    """Whether a target is one of these questions."""
    return target.plural in _KINDS and target.group in {_AUTHORIZATION, "authentication.k8s.io"}


def answer_of(target: Target, body: Json, user: User, rights: Rights) -> Json:
    """The question with its answer as status."""
    item: Json = copied(body)
    item |= {"apiVersion": f"{target.group}/{target.version}", "kind": _KINDS[target.plural]}
    item.setdefault("metadata", {})
    spec = item.get("spec", {})
    if target.plural == "selfsubjectreviews":
        return {**item, "status": {"userInfo": {"username": user.name, "groups": list(user.groups)}}}
    if target.plural == "selfsubjectrulesreviews":
        if not spec.get("namespace"):
            raise Refused(400, "BadRequest", "no namespace on request")
        rules = [
            {key: rule[key] for key in ("verbs", "apiGroups", "resources", "resourceNames") if rule.get(key)}
            for rule in rights.rules(user, spec["namespace"])
        ]
        return {**item, "status": {"resourceRules": rules, "nonResourceRules": [], "incomplete": False}}
    about = user
    if target.plural != "selfsubjectaccessreviews":
        about = _named(spec.get("user", ""), tuple(spec.get("groups") or ()))
    allowed = rights.allows(about, _attributes(spec.get("resourceAttributes") or {}))
    return {**item, "status": {"allowed": allowed}}


def _named(name: str, groups: tuple[str, ...]) -> User:
    parts = name.split(":")
    if name.startswith("system:serviceaccount:") and len(parts) == 4:
        return account_user(parts[2], parts[3])
    return User(name, groups)


def _attributes(spec: Json) -> Attributes:
    return Attributes(
        verb=spec.get("verb", ""),
        group=spec.get("group", ""),
        resource=spec.get("resource", ""),
        subresource=spec.get("subresource", ""),
        namespace=spec.get("namespace", ""),
        name=spec.get("name", ""),
    )


def token_of(target: Target, body: Json, resources: Resources, rights: Rights) -> Json:
    """A token for a service account, as a TokenRequest with its status."""
    account = resources.get(SERVICE_ACCOUNTS, target.namespace, target.name)
    spec = {"audiences": [], "expirationSeconds": _HOUR, "boundObjectRef": None, **(body.get("spec") or {})}
    ends = timestamp(resources.store.clock.now() + int(spec["expirationSeconds"]))
    return {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": {"name": target.name, "namespace": target.namespace},
        "spec": spec,
        "status": {"token": rights.token_for(account), "expirationTimestamp": ends},
    }
