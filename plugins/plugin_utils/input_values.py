"""The faults in the value of one variable: its type, its range, its choices, and the same inside a connection."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from ansible.module_utils.common.validation import check_type_bool, check_type_dict, check_type_int, check_type_list

from ..module_utils.common.durations import LONGEST, is_duration
from ..module_utils.common.errors import Refusal
from ..module_utils.pools.given_images import given_images
from .connection_inputs import listed
from .forms import FORMS, Form
from .variables import Variable, table

SHOWN = 40
"""The most characters of a wrong value that a message repeats."""


def wrong_values(name: str, value: Any, option: Mapping[str, Any]) -> Iterator[str]:
    """One sentence for each fault in the value of the variable `name`. `option` is its argument specification.

    Values of a connection (`private`) are never repeated, since some are secrets and others may contain one.
    """
    if value is None:
        yield f"{name} is null: give it a value, or leave it out."
        return
    if option.get("elements") == "dict":
        yield from _wrong_elements(name, value, option["options"])
        return
    if "options" in option:
        yield from _wrong_parts(name, value, option["options"])
        return
    fault = _fault(name, value, option)
    if fault:
        form = _form_of(name)
        hidden = option.get("private") or isinstance(value, (Mapping, list, tuple)) or (form and not form.shown)
        named = fault.startswith("has ")
        shown = "" if hidden or named else f" is '{str(value)[:SHOWN]}', and"
        yield f"{name}{shown} {fault}."


def _wrong_elements(name: str, value: Any, options: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """The faults of a list of dictionaries, each with options of its own. Their values are never repeated."""
    if not isinstance(value, (list, tuple)):
        yield f"{name} must be a list of dictionaries with {', '.join(sorted(options))}."
        return
    for number, each in enumerate(value):
        where = f"{name}[{number}]"
        yield from _wrong_parts(where, each, options)
        needed = [part for part, option in options.items() if option.get("required")]
        missing = [part for part in needed if isinstance(each, Mapping) and each.get(part) in (None, "")]
        if missing:
            yield f"{where} has no {' and no '.join(missing)}."


def _wrong_parts(name: str, value: Any, options: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """The faults of a dictionary with options of its own, in which null means that an option is not given."""
    try:
        parts = check_type_dict(value)
    except (TypeError, ValueError):
        yield f"{name} must be a dictionary with any of {', '.join(sorted(options))}."
        return
    known = by_any_name(options)
    for part in sorted(parts, key=str):
        where = f"{name}.{part}"
        if part not in known:
            yield f"{where} is not an option: {which_is_meant(str(part), known)}"
        elif parts[part] is not None and "options" in known[part]:
            yield from _wrong_parts(where, parts[part], known[part]["options"])
        elif parts[part] is not None and _is_checked(where, known[part]):
            # Every list among them (the hosts) must have an element.
            fault = _fault(where, parts[part], {**known[part], "filled": True})
            if fault:
                yield f"{where} {fault}."


def _is_checked(where: str, option: Mapping[str, Any]) -> bool:
    """Whether more is known of a part than that it is text, which Ansible makes of any value."""
    return option["type"] in ("int", "bool", "list") or "choices" in option or _form_of(where) is not None


def by_any_name(options: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The options by their names and by their aliases."""
    return {each: option for name, option in options.items() for each in (name, *option.get("aliases", ()))}


def which_is_meant(part: str, known: Collection[str]) -> str:
    """The end of a sentence about an option that is not known: the most similar one, or all of them."""
    close = difflib.get_close_matches(part, known, 1)
    return f"did you mean {close[0]}?" if close else f"there are {', '.join(sorted(known))}."


def _fault(name: str, value: Any, option: Mapping[str, Any]) -> str:
    if _of(name).values == "pools":
        return _fault_of_pools(value)
    kind = option.get("type", "str")
    check = CHECKS.get(kind)
    return check(name, value, option) if check else ""


def _of(name: str) -> Variable:
    return table().get(name) or Variable(name)


def _form_of(name: str) -> Form | None:
    """The form of the texts of a variable, or of an address in a connection; None if it has none."""
    return FORMS.get(_of(name).values or ("url" if name.endswith((".url", "_url")) else ""))


def _fault_of_pools(value: Any) -> str:
    texts = list(value.values()) if isinstance(value, Mapping) else [value]
    if not all(isinstance(text, (str, int, float)) and not isinstance(text, bool) for text in texts):
        return "must be text, or a dictionary of pools and texts"
    try:
        wrong = [image for image in given_images(value).values() if not FORMS["image"].fits(image)]
    except Refusal:
        return "must give each pool one image: IMAGE, or POOL=IMAGE,POOL=IMAGE"
    has = f"has {wrong[0][:SHOWN]}, and each " if wrong and isinstance(value, Mapping) else ""
    return f"{has}must be {FORMS['image'].said}" if wrong else ""


def _fault_of_number(name: str, value: Any, option: Mapping[str, Any]) -> str:
    whole, *parts = re.sub(r"\[\d+\]", "", name).split(".")
    least = _of(whole).least_of(parts)
    try:
        if isinstance(value, bool) or check_type_int(value) < least:
            raise ValueError
    except (TypeError, ValueError):
        return f"must be a whole number, {least} or more"
    if is_duration([whole, *parts][-1]) and check_type_int(value) > LONGEST:
        return f"must be at most {LONGEST}"
    return ""


def _fault_of_bool(name: str, value: Any, option: Mapping[str, Any]) -> str:
    try:
        check_type_bool(value)
    except TypeError:
        return "must be true or false"
    return ""


def _fault_of_list(name: str, value: Any, option: Mapping[str, Any]) -> str:
    indices = _of(name).values == "indices"
    try:
        items = [value] if indices and isinstance(value, bool) else _as_list(value)
    except TypeError:
        return f"must be {'true, false or ' if indices else ''}a list, such as [a, b]"
    if (option.get("required") or option.get("filled")) and not items:
        return "is empty: name at least one"
    if not all(isinstance(item, (str, int, float)) and str(item).strip() for item in items):
        return "has an element that is empty or no text"
    choices = option.get("choices")
    wrong = [str(item)[:SHOWN] for item in items if choices and item not in choices]
    if choices and wrong:
        return f"has {', '.join(wrong)}, and takes only {', '.join(choices)}"
    form = FORMS.get(_of(name).values)
    unread = [str(item)[:SHOWN] for item in items if form and not form.fits(str(item))]
    return f"has {', '.join(unread)}, and each must be {form.said}" if form and unread else ""


def _as_list(value: Any) -> list[Any]:
    if isinstance(value, (Mapping, bool)):
        raise TypeError
    return list(check_type_list(listed(value)))


def _fault_of_text(name: str, value: Any, option: Mapping[str, Any]) -> str:
    if isinstance(value, (bool, Mapping, list, tuple)):
        return "must be text"
    if option.get("required") and not str(value).strip():
        return "must not be empty"
    choices, form = option.get("choices"), _form_of(name)
    if choices and str(value) not in choices:
        return f"must be one of {', '.join(choices)}"
    return f"must be {form.said}" if form and not form.fits(str(value)) else ""


def _fault_of_dictionary(name: str, value: Any, option: Mapping[str, Any]) -> str:
    try:
        check_type_dict(value)
    except (TypeError, ValueError):
        return "must be a dictionary"
    return ""


CHECKS: Mapping[str, Callable[[str, Any, Mapping[str, Any]], str]] = {
    "int": _fault_of_number,
    "bool": _fault_of_bool,
    "list": _fault_of_list,
    "str": _fault_of_text,
    "dict": _fault_of_dictionary,
}
"""The fault of a value by the type of its variable."""
