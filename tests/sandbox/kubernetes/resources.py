"""Making, changing and removing objects by the rules of the API server, whoever asks for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tests.sandbox.kubernetes import defaults, deletion, ownership, schemas, validation
from tests.sandbox.kubernetes.admission import chain
from tests.sandbox.kubernetes.kinds import CLAIMS, NAMESPACES, SERVICES, STORAGE_CLASSES, Kinds
from tests.sandbox.kubernetes.objects import (
    Json,
    Kind,
    Refused,
    already_exists,
    bad_request,
    conflict,
    copied,
    details_of,
    immutable_uid,
    invalid,
    modified,
    not_found,
    timestamp,
)
from tests.sandbox.kubernetes.store import Store

_FIXED = ("name", "namespace", "uid", "creationTimestamp", "generation", "deletionTimestamp", "managedFields")
_FIXED_TOO = ("deletionGracePeriodSeconds", "resourceVersion", "generateName")
_KEPT_GENERATE_NAME = 58


@dataclass(frozen=True)
class Writing:
    """The manager of a write, and the options of the write."""

    manager: str = ""
    """Empty: no one is noted as owner of what it sets."""
    dry_run: bool = False
    strict: str = "Warn"
    """The treatment of fields that a schema does not know: `Strict`, `Warn` or `Ignore`."""
    subresource: str = ""
    force: bool = False


Admission = Callable[[Kind, "Json | None", "Json | None"], None]
"""A webhook: the kind, the object before (None: it is made) and after (None: it is deleted), which it may change."""
PLAIN = Writing()
_PATCH_OPTIONS = Kind("meta.k8s.io", "v1", "patchoptions", "PatchOptions")


class Resources:
    """All objects of one API server. Each method raises Refused."""

    def __init__(self, store: Store, kinds: Kinds) -> None:
        self.store, self.kinds = store, kinds
        self.admission: list[Admission] = []
        """They are asked about every write but that of a subresource, and raise Refused where they refuse it."""
        self.controllers_back_at = 0.0
        """Until this time no controller looks at anything: what they write of others' state is as old as that."""

    def _admit(self, kind: Kind, before: Json | None, after: Json | None) -> None:
        for each in self.admission:
            each(kind, before, after)

    def get(self, kind: Kind, namespace: str, name: str) -> Json:
        """A copy of an object."""
        found = self.store.get(kind, namespace, name)
        if found is None:
            raise not_found(kind, name)
        return found

    def create(self, kind: Kind, namespace: str, body: Json, writing: Writing = PLAIN) -> Json:
        """Make an object."""
        item = self._accepted(kind, namespace, body)
        metadata = item["metadata"]
        if metadata.get("resourceVersion"):
            raise Refused(500, "", "resourceVersion should not be set on objects to be created")
        if kind.status:
            item.pop("status", None)
        for field in ("deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "generation"):
            metadata.pop(field, None)
        metadata |= {"uid": self.store.new_uid(), "creationTimestamp": self._now()}
        if kind.generations:
            metadata["generation"] = 1
        self._complete(kind, item, writing)
        chain.change(self.store, kind, item)
        self._admit(kind, None, item)
        validation.check(kind, item, None)
        chain.validate(self.store, kind, item)
        if not writing.dry_run:
            chain.charge(self.store, kind, item)
        # A name that is taken is looked at last, also in a dry run (registry/generic/registry/store.go).
        there = self.store.kept(kind, metadata.get("namespace", ""), metadata["name"])
        if there is not None:
            raise already_exists(kind, there)
        if writing.manager:
            who = ownership.Manager(writing.manager)
            metadata["managedFields"] = ownership.updated({}, self._said(item, body), who, self._now())
        return item if writing.dry_run else self.store.put(kind, item)

    def _said(self, item: Json, body: Json) -> Json:
        """The object as it was sent: no one owns what the server has filled in."""
        return {**copied(body), "apiVersion": item["apiVersion"]}

    def _accepted(self, kind: Kind, namespace: str, body: Json) -> Json:
        """A copy of a body, as one object at this place; its name is made where it only has the beginning of one."""
        item: Json = copied(body)
        self._check_type(kind, item)
        metadata = item.setdefault("metadata", {})
        if kind.namespaced:
            if metadata.setdefault("namespace", namespace) != namespace:
                raise bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request"
                )
            self._check_namespace(kind, namespace, metadata.get("name") or metadata.get("generateName", ""))
        else:
            metadata.pop("namespace", None)
        if not metadata.get("name"):
            if not metadata.get("generateName"):
                cause = ("FieldValueRequired", "metadata.name", "Required value: name or generateName is required")
                raise invalid(kind, "", [cause])
            metadata["name"] = metadata["generateName"][:_KEPT_GENERATE_NAME] + self.store.new_suffix()
        return item

    def _check_type(self, kind: Kind, item: Json) -> None:
        sent = (item.get("apiVersion", kind.api_version), item.get("kind", kind.kind))
        if sent[1] != kind.kind:
            raise bad_request(
                f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: no kind '
                f'"{sent[1]}" is registered for version "{sent[0]}"'
            )
        if sent[0] != kind.api_version:
            raise bad_request(
                f"the API version in the data ({sent[0]}) does not match the expected API version ({kind.api_version})"
            )
        item |= {"apiVersion": kind.api_version, "kind": kind.kind}

    def _check_namespace(self, kind: Kind, namespace: str, name: str) -> None:
        found = self.store.kept(NAMESPACES, "", namespace)
        if found is None:
            raise not_found(NAMESPACES, namespace)
        if found["metadata"].get("deletionTimestamp"):
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            message = f"namespace {namespace} is being terminated"
            cause = {"reason": "NamespaceTerminating", "message": message, "field": "metadata.namespace"}
            details = {**details_of(kind, name), "causes": [cause]}
            raise Refused(403, "Forbidden", f'{kind.resource} "{name}" is forbidden: {why}', details)

    def _complete(self, kind: Kind, item: Json, writing: Writing, before: Json | None = None) -> None:
        """Fill in what the server fills in, and hold it to its schema."""
        schema = self.kinds.schema(kind)
        if schema is not None:
            schemas.check(kind, item, schema, writing.strict, before if self._is_held(kind, before) else None)
            return
        defaults.fill(item)
        if kind == CLAIMS and "storageClassName" not in item["spec"]:
            chosen = defaults.default_class([*self.store.each(STORAGE_CLASSES)])
            if chosen:
                item["spec"]["storageClassName"] = chosen
        if kind == CLAIMS and "deletionTimestamp" not in item["metadata"]:
            item["metadata"].setdefault("finalizers", ["kubernetes.io/pvc-protection"])
        if kind == SERVICES and "clusterIP" not in item["spec"]:
            number = self.store.version % 60000
            item["spec"]["clusterIP"] = f"10.96.{number // 250}.{number % 250 + 1}"
            item["spec"]["clusterIPs"] = [item["spec"]["clusterIP"]]

    def _is_held(self, kind: Kind, before: Json | None) -> bool:
        """Whether an object was written under the present definition of its kind."""
        return before is not None and int(before["metadata"]["resourceVersion"]) > self.kinds.defined_at(kind)

    def replace(self, kind: Kind, namespace: str, name: str, body: Json, writing: Writing = PLAIN) -> Json:
        """Put another version in the place of an object."""
        before = self.get(kind, namespace, name)
        sent, there = body.get("metadata", {}).get("uid"), before["metadata"]["uid"]
        if sent and sent != there:
            key = "/".join(filter(None, ("/registry", kind.group if kind.custom else "", kind.plural, namespace, name)))
            error = f"Precondition failed: UID in precondition: {sent}, UID in object meta: {there}"
            place = f"invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {error}"
            raise conflict(kind, name, f"StorageError: {place}")
        return self._write(kind, before, copied(body), writing)

    def change(
        self, kind: Kind, namespace: str, name: str, change: Callable[[Json], Any], writing: Writing = PLAIN
    ) -> Json:
        """Write the object that `change` gives or has changed; if it names a version, that must be the present one."""
        before = self.store.kept(kind, namespace, name)
        if before is None:
            raise not_found(kind, name)
        draft = copied(before)
        after = change(draft)
        after = draft if after is None else after
        if not isinstance(after, dict) or not isinstance(after.get("metadata"), dict):
            raise bad_request("the patched object is none")
        return self._write(kind, before, after, writing)

    def apply(self, kind: Kind, namespace: str, name: str, body: Json, writing: Writing) -> tuple[Json, bool]:
        """Server-side apply; gives the object, and whether it was made."""
        if not writing.manager:
            cause = ("FieldValueRequired", "fieldManager", "Required value: is required for apply patch")
            raise invalid(_PATCH_OPTIONS, "", [cause])
        body = copied(body)
        self._check_type(kind, body)
        body.setdefault("metadata", {}).setdefault("name", name)
        before = self.store.get(kind, namespace, name)
        if before is None:
            made = self.create(kind, namespace, body, replace(writing, manager="", dry_run=True))
            who = ownership.Manager(writing.manager, "Apply", writing.subresource)
            empty: Json = {"metadata": {}}
            result = ownership.applied(empty, body, who, self._now(), kind, force=True)
            made["metadata"]["managedFields"] = result["metadata"]["managedFields"]
            if not writing.dry_run:
                chain.charge(self.store, kind, made)
                made = self.store.put(kind, made)
            return made, True
        who = ownership.Manager(writing.manager, "Apply", writing.subresource)
        after = ownership.applied(before, body, who, self._now(), kind, force=writing.force)
        fields = after["metadata"]["managedFields"]
        return self._write(kind, before, after, replace(writing, manager=""), fields), False

    def _write(self, kind: Kind, before: Json, after: Json, writing: Writing, fields: list[Json] | None = None) -> Json:
        self._check_type(kind, after)
        self._check_same(kind, before, after)
        after["metadata"] = _kept(before["metadata"], after["metadata"])
        _separate(kind, before, after, writing.subresource)
        self._complete(kind, after, writing, before)
        if not writing.subresource:
            self._admit(kind, before, after)
            chain.expand(self.store, kind, after, before)
        validation.check(kind, after, before)
        if kind.generations and _meant(after) != _meant(before):
            after["metadata"]["generation"] = before["metadata"].get("generation", 0) + 1
        if fields is not None:
            after["metadata"]["managedFields"] = fields
        elif writing.manager and after != before:
            who = ownership.Manager(writing.manager, subresource=writing.subresource)
            after["metadata"]["managedFields"] = ownership.updated(before, after, who, self._now())
        if after == before:
            return after
        if writing.dry_run:
            return after
        if deletion.is_over(kind, after):
            self.store.remove(kind, after)
            return after
        if not writing.subresource:
            chain.charge(self.store, kind, after, before)
        return self.store.put(kind, after)

    def _check_same(self, kind: Kind, before: Json, after: Json) -> None:
        there, sent = before["metadata"], after.setdefault("metadata", {})
        name = there["name"]
        if sent.get("name", name) != name:
            raise bad_request(f"the name of the object ({sent['name']}) does not match the name on the URL ({name})")
        if sent.get("namespace", there.get("namespace")) != there.get("namespace"):
            raise bad_request("the namespace of the object does not match the namespace on the URL")
        if sent.get("uid") and sent["uid"] != there["uid"]:
            raise immutable_uid(kind, name, sent["uid"])
        if sent.get("resourceVersion") and sent["resourceVersion"] != there["resourceVersion"]:
            raise modified(kind, name)

    def delete(self, kind: Kind, namespace: str, name: str, options: Json | None = None) -> tuple[Json, bool]:
        """Remove an object, or start to; gives it as it was last, and whether it is gone."""
        item = self.get(kind, namespace, name)
        options = options or {}
        deletion.check_preconditions(kind, item, options)
        self._admit(kind, item, None)
        dying, gone = deletion.begun(kind, item, options, self.store.clock.now())
        if options.get("dryRun"):
            return item, gone
        if gone:
            self.store.remove(kind, dying)
            return dying, True
        return (dying if dying == item else self.store.put(kind, dying)), False

    def _now(self) -> str:
        return timestamp(self.store.clock.now())


def _kept(before: Json, after: Json) -> Json:
    """The metadata after a write: some of it no one may write."""
    fixed = (*_FIXED, *_FIXED_TOO)
    result = {key: value for key, value in after.items() if key not in fixed}
    result |= {key: before[key] for key in fixed if key in before}
    for field in ("labels", "annotations", "finalizers", "ownerReferences"):
        if not result.get(field):
            result.pop(field, None)
    return result


def _separate(kind: Kind, before: Json, after: Json, subresource: str) -> None:
    """Keep a write of the object from its status, and one of the status from the rest."""
    if not kind.status:
        return
    if subresource == "status":
        for field in (after.keys() | before.keys()) - {"status", "metadata"}:
            after.pop(field, None)
            if field in before:
                after[field] = copied(before[field])
        if kind.custom:
            after["metadata"] = copied(before["metadata"])
    else:
        after.pop("status", None)
        if "status" in before:
            after["status"] = copied(before["status"])


def _meant(item: Json) -> Json:
    """All of an object that is neither metadata nor status."""
    return {key: value for key, value in item.items() if key not in {"metadata", "status"}}
