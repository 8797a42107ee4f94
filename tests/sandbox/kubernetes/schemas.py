"""Custom resources against their openAPIV3Schema: defaults, unknown fields, types and limits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.sandbox.kubernetes.metadata_rules import Cause
from tests.sandbox.kubernetes.objects import Json, Kind, bad_request, copied, invalid

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}
_NAMES = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_OF_EVERY_OBJECT = ("apiVersion", "kind", "metadata")


def check(kind: Kind, item: Json, schema: Json, strict: str, before: Json | None = None) -> None:
    """Fill in defaults and take out unknown fields; under `Strict` these are refused. Raises Refused.

    All that is as it was `before`, which was held to the same schema, is not looked at again.
    """
    whole = {**schema, "properties": {**schema.get("properties", {}), **_free()}}
    unknown = list(_pruned(item, whole, "", before))
    if unknown and strict == "Strict":
        said = ", ".join(f'unknown field "{each}"' for each in unknown)
        raise bad_request(
            f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: strict decoding error: {said}'
        )
    causes = list(_broken(item, whole, "", before))
    if causes:
        raise invalid(kind, item["metadata"]["name"], causes)


def _free() -> Json:
    return {each: {_PRESERVE: True} for each in _OF_EVERY_OBJECT}


def _below(before: Any, name: str) -> Any:
    return before.get(name) if isinstance(before, dict) else None


def _pruned(value: Any, schema: Json, at: str, before: Any) -> Iterator[str]:
    """Take out what the schema does not know, fill in its defaults, and give the paths of what was taken out."""
    if isinstance(value, dict):
        if value != before:
            yield from _pruned_object(value, schema, at, before)
    elif isinstance(value, list) and value != before and isinstance(schema.get("items"), dict):
        for place, each in enumerate(value):
            yield from _pruned(each, schema["items"], f"{at}[{place}]", None)


def _pruned_object(value: Json, schema: Json, at: str, before: Any) -> Iterator[str]:
    known, more = schema.get("properties", {}), schema.get("additionalProperties")
    for name, below in known.items():
        if "default" in below and name not in value:
            value[name] = copied(below["default"])
        if name in value and value[name] is None and not below.get("nullable"):
            del value[name]
            if "default" in below:
                value[name] = copied(below["default"])
    for name in list(value):
        place = f"{at}.{name}" if at else name
        if name in known:
            yield from _pruned(value[name], known[name], place, _below(before, name))
        elif isinstance(more, dict):
            yield from _pruned(value[name], more, place, _below(before, name))
        elif not more and not schema.get(_PRESERVE):
            del value[name]
            yield place


def _broken(value: Any, schema: Json, at: str, before: Any) -> Iterator[Cause]:
    """The rules that a value breaks."""
    if value is not None and type(value) is type(before) and value == before:
        return
    wanted = "integer" if schema.get("x-kubernetes-int-or-string") else schema.get("type")
    if value is None and schema.get("nullable"):
        return
    if wanted and not _is(value, wanted) and not (schema.get("x-kubernetes-int-or-string") and isinstance(value, str)):
        found = _NAMES.get(type(value), "null")
        text = f'Invalid value: "{found}": {at} in body must be of type {wanted}: "{found}"'
        yield "FieldValueTypeInvalid", at, text
        return
    yield from _out_of_bounds(value, schema, at)
    yield from _broken_inside(value, schema, at, before)


def _broken_inside(value: Any, schema: Json, at: str, before: Any) -> Iterator[Cause]:
    if isinstance(value, dict):
        for name in schema.get("required", []):
            if name not in value:
                yield "FieldValueRequired", f"{at}.{name}" if at else name, "Required value"
        for name, each in value.items():
            below = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
            if isinstance(below, dict):
                yield from _broken(each, below, f"{at}.{name}" if at else name, _below(before, name))
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from _broken(each, schema.get("items", {}), f"{at}[{place}]", None)


def _is(value: Any, wanted: str) -> bool:
    return isinstance(value, _TYPES[wanted]) and (wanted == "boolean" or not isinstance(value, bool))


def _out_of_bounds(value: Any, schema: Json, at: str) -> Iterator[Cause]:
    if "enum" in schema and value not in schema["enum"]:
        known = ", ".join(f'"{each}"' for each in schema["enum"])
        yield "FieldValueNotSupported", at, f'Unsupported value: "{value}": supported values: {known}'
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if "minimum" in schema and value < schema["minimum"]:
            text = f"{at} in body should be greater than or equal to {schema['minimum']}"
            yield "FieldValueInvalid", at, f"Invalid value: {value}: {text}"
        if "maximum" in schema and value > schema["maximum"]:
            text = f"{at} in body should be less than or equal to {schema['maximum']}"
            yield "FieldValueInvalid", at, f"Invalid value: {value}: {text}"
    if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
        text = f"{at} in body should match '{schema['pattern']}'"
        yield "FieldValueInvalid", at, f'Invalid value: "{value}": {text}'
