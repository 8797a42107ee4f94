"""The basis of every file here: objects as JSON, their kinds, and refusals as the API server words them."""

from __future__ import annotations

import datetime
import marshal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """One kind of resource."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    status: bool = False
    """Whether it has the subresource `status`, so that nothing else writes that."""
    scale: bool = False
    generations: bool = False
    """Whether a change of the spec counts up `metadata.generation`."""
    custom: bool = False

    def __hash__(self) -> int:
        """Kinds are the keys of everything here: the name alone is enough."""
        return hash(self.plural)

    @property
    def api_version(self) -> str:
        """As objects write it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """As messages write it: `statefulsets.apps`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def key(self) -> tuple[str, str]:
        """The group and the plural, which are the same for all versions."""
        return self.group, self.plural

    def path(self, namespace: str, name: str = "") -> str:
        """The path of an object, or of all in a namespace."""
        base = f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"
        where = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return f"{base}{where}/{self.plural}" + (f"/{name}" if name else "")


class Refused(Exception):
    """A request that is not done. It carries the whole answer."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message
        self.details, self.headers = dict(details or {}), dict(headers or {})

    def body(self) -> Json:
        """The `Status` that is answered."""
        status: Json = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details:
            status["details"] = self.details
        return {**status, "code": self.code}


def details_of(kind: Kind, name: str) -> Json:
    """The details by which a `Status` names the object that it is about."""
    group = {"group": kind.group} if kind.group else {}
    return {"name": name, **group, "kind": kind.plural}


def not_found(kind: Kind, name: str) -> Refused:
    """There is no such object."""
    return Refused(404, "NotFound", f'{kind.resource} "{name}" not found', details_of(kind, name))


def already_exists(kind: Kind, there: Json) -> Refused:
    """The name is taken by an object that is there."""
    metadata = there["metadata"]
    leaving = "object is being deleted: " if metadata.get("deletionTimestamp") else ""
    said = f'{leaving}{kind.resource} "{metadata["name"]}" already exists'
    return Refused(409, "AlreadyExists", said, details_of(kind, metadata["name"]))


def modified(kind: Kind, name: str) -> Refused:
    """It is not the version that was observed."""
    return conflict(
        kind, name, "the object has been modified; please apply your changes to the latest version and try again"
    )


def conflict(kind: Kind, name: str, why: str) -> Refused:
    """A precondition does not hold."""
    message = f'Operation cannot be fulfilled on {kind.resource} "{name}": {why}'
    return Refused(409, "Conflict", message, details_of(kind, name))


def invalid(kind: Kind, name: str, causes: Sequence[tuple[str, str, str]]) -> Refused:
    """The object breaks rules; each cause is reason, field and message."""
    said = [f"{field}: {message}" for _reason, field, message in causes]
    text = said[0] if len(said) == 1 else f"[{', '.join(said)}]"
    group = {"group": kind.group} if kind.group else {}
    details = {
        **({"name": name} if name else {}),
        **group,
        "kind": kind.kind,
        "causes": [{"reason": reason, "message": message, "field": field} for reason, field, message in causes],
    }
    shown = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    return Refused(422, "Invalid", f'{shown} "{name}" is invalid: {text}', details)


def immutable_uid(kind: Kind, name: str, uid: str) -> Refused:
    """A patch names another UID. The real server finds the same cause twice."""
    refused = invalid(
        kind, name, [("FieldValueInvalid", "metadata.uid", f'Invalid value: "{uid}": field is immutable')]
    )
    refused.details["causes"] *= 2
    return refused


def no_such_path() -> Refused:
    """There is no such kind, or no such subresource, in a group that exists."""
    return Refused(404, "NotFound", "the server could not find the requested resource")


def bad_request(message: str) -> Refused:
    """The request cannot be read."""
    return Refused(400, "BadRequest", message)


def copied(item: Any) -> Any:
    """A copy of what JSON is made of, that shares nothing.

    Half of the time of tests was spent here, and `marshal` takes a third of the time of a copy in Python.
    """
    # Version 2 knows no references: a part that stands twice in an object is two in its copy.
    return marshal.loads(marshal.dumps(item, 2))  # noqa: S302 - it is our own


def timestamp(moment: float) -> str:
    """A time as Kubernetes writes a Time: whole seconds in UTC."""
    return datetime.datetime.fromtimestamp(int(moment), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_of(text: str) -> float:
    """The time that a Time says."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def owner_of(kind: Kind, item: Json) -> Json:
    """The ownerReference by which an object controls another."""
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": item["metadata"]["name"],
        "uid": item["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def controller_of(item: Json) -> Json | None:
    """The ownerReference of what controls an object."""
    owners: list[Json] = item["metadata"].get("ownerReferences", [])
    return next((each for each in owners if each.get("controller")), None)


def condition_of(item: Json, kind: str) -> Json:
    """A condition in the status, or nothing."""
    found: list[Json] = item.get("status", {}).get("conditions", [])
    return next((each for each in found if each["type"] == kind), {})


def is_ready(item: Json) -> bool:
    """Whether a pod, or a Kubernetes node, is Ready."""
    return bool(condition_of(item, "Ready").get("status") == "True")
