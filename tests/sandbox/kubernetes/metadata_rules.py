"""The rules for the metadata of any object, and of the template of pods (apimachinery, `ValidateObjectMeta`)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from tests.sandbox.kubernetes.objects import Json

Cause = tuple[str, str, str]

MOST_OF_LABEL, MOST_OF_ANNOTATIONS, MOST_OF_NAME = 63, 262_144, 253
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_PART = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_OF_PART = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_KEY_RULE = f"a valid label key {_OF_PART} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
_STANDARD_FINALIZERS = frozenset({"kubernetes", "orphan", "foregroundDeletion"})


def broken_in(metadata: Json, at: str) -> list[Cause]:
    """The rules that labels and annotations break."""
    causes = list[Cause]()
    for key, value in (metadata.get("labels") or {}).items():
        causes += [_wrong(f"{at}.labels", key, rule) for rule in _of_name(key)]
        causes += [_wrong(f"{at}.labels", value, rule) for rule in _of_value(value)]
    annotations = metadata.get("annotations") or {}
    for key in annotations:
        causes += [_wrong(f"{at}.annotations", key, rule) for rule in _of_name(key.lower())]
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > MOST_OF_ANNOTATIONS:
        text = f"Too long: may not be more than {MOST_OF_ANNOTATIONS} bytes"
        causes.append(("FieldValueTooLong", f"{at}.annotations", text))
    return causes


def broken_by_others(metadata: Json, *, built_in: bool) -> list[Cause]:
    """The rules that owners and finalizers break. Finalizers of the built-in kinds have rules of their own as well."""
    owners, causes = metadata.get("ownerReferences") or (), list[Cause]()
    for each in owners:
        if not each.get("apiVersion"):
            causes.append(_wrong("metadata.ownerReferences.apiVersion", "", "version must not be empty"))
        for field in ("kind", "name", "uid"):
            if not each.get(field):
                causes.append(_wrong(f"metadata.ownerReferences.{field}", "", "must not be empty"))
    controllers = [f"{each['kind']}/{each['name']}" for each in owners if each.get("controller")]
    if len(controllers) > 1:
        text = (
            f"Invalid value: {json.dumps(owners, separators=(',', ':'))}: Only one reference can have Controller set "
            f'to true. Found "true" in references for {controllers[0]} and {controllers[1]}'
        )
        causes.append(("FieldValueInvalid", "metadata.ownerReferences", text))
    finalizers = metadata.get("finalizers") or ()
    for each in finalizers:
        causes += [_wrong("metadata.finalizers", each, rule) for rule in _of_name(each)]
    for place, each in enumerate(finalizers if built_in else ()):
        if "/" not in each and each not in _STANDARD_FINALIZERS:
            rule = "name is neither a standard finalizer name nor is it fully qualified"
            causes.append(_wrong(f"metadata.finalizers[{place}]", each, rule))
    return causes


def _wrong(field: str, value: str, rule: str) -> Cause:
    return "FieldValueInvalid", field, f'Invalid value: "{value}": {rule}'


def _of_value(value: str) -> Iterator[str]:
    if len(value.encode()) > MOST_OF_LABEL:
        yield f"must be no more than {MOST_OF_LABEL} bytes"
    if value and not _PART.fullmatch(value):
        yield _VALUE_RULE


def _of_name(key: str) -> Iterator[str]:
    """The rules that a qualified name breaks (apimachinery, `IsQualifiedName`)."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        yield _KEY_RULE
        return
    if slash and not prefix:
        yield "prefix part must be non-empty"
    elif slash and not SUBDOMAIN.fullmatch(prefix):
        yield f"prefix part {SUBDOMAIN_RULE}"
    if not name:
        yield "name part must be non-empty"
    elif len(name.encode()) > MOST_OF_LABEL:
        yield f"name part must be no more than {MOST_OF_LABEL} bytes"
    if not _PART.fullmatch(name):
        yield f"name part {_OF_PART}"
