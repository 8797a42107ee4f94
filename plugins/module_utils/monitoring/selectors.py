"""Selectors of alerts: matchers of labels, in the syntax that PromQL has between its braces. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..common.errors import each_read
from ..common.verdict import Reason, refused

_MATCHER = re.compile(r'\s*(?P<name>[a-zA-Z_]\w*)\s*(?P<how>=~|!~|!=|=)\s*(?P<value>"(?:[^"\\]|\\.)*")\s*', re.ASCII)


@dataclass(frozen=True)
class Matcher:
    """One condition on a label. A label that is missing counts as empty."""

    name: str
    value: str
    is_equal: bool = True
    """Whether the label has to match; otherwise it must not."""
    is_regex: bool = False
    """Whether the value is a regular expression for the whole label."""

    def fits(self, labels: Mapping[str, str]) -> bool:
        """Whether an alert with these labels matches."""
        label = labels.get(self.name, "")
        found = re.fullmatch(self.value, label) is not None if self.is_regex else label == self.value
        return found is self.is_equal

    @property
    def narrows(self) -> bool:
        """Whether only alerts that have the label match."""
        return not self.fits({})

    @property
    def text(self) -> str:
        """The matcher as it is written."""
        how = ("=" if self.is_equal else "!") + ("~" if self.is_regex else "" if self.is_equal else "=")
        return f"{self.name}{how}{json.dumps(self.value, ensure_ascii=False)}"

    def as_result(self) -> dict[str, Any]:
        """The matcher as the Alertmanager API has it."""
        return {"name": self.name, "value": self.value, "isEqual": self.is_equal, "isRegex": self.is_regex}


@dataclass(frozen=True)
class Selector:
    """Matchers that must all match."""

    matchers: tuple[Matcher, ...]

    def fits(self, labels: Mapping[str, str]) -> bool:
        """Whether an alert with these labels matches."""
        return all(each.fits(labels) for each in self.matchers)

    @property
    def text(self) -> str:
        """The selector as it is written."""
        return ",".join(each.text for each in self.matchers)

    @property
    def key(self) -> frozenset[Matcher]:
        """The selector without the order of its matchers."""
        return frozenset(self.matchers)


def selectors_in(texts: Iterable[str], option: str) -> list[Selector]:
    """The selectors in the texts of an option.

    Raises:
        Refusal: some of them are not selectors; it has a reason for each.
    """

    def fault(each: str, error: ValueError) -> Reason:
        said = f"{each} in {option} selects no alerts: {error}."
        return refused("selector_unreadable", said, 'Write matchers as in namespace="search",severity=~"a|b".')

    return each_read(texts, parse_selector, fault)


def parse_selector(text: str) -> Selector:
    """The selector in a text, with or without braces around it.

    Raises:
        ValueError: it is not a selector, or it could match any alert. The text is the cause.
    """
    inner = text.strip()
    inner = inner[1:-1] if inner.startswith("{") and inner.endswith("}") else inner
    matchers, place = [], 0
    while place < len(inner):
        found = _MATCHER.match(inner, place)
        if found is None or (found.end() < len(inner) and inner[found.end()] != ","):
            raise ValueError("it is no list of matchers with values in double quotes")
        matchers.append(_matcher(found))
        place = found.end() + 1
    if not any(each.narrows for each in matchers):
        raise ValueError("it would fit alerts without any label, and so nearly all")
    return Selector(tuple(matchers))


def _matcher(found: re.Match[str]) -> Matcher:
    try:
        value = str(json.loads(found["value"]))
    except ValueError:
        raise ValueError(f"{found['value']} is no text in quotes; a backslash is written twice") from None
    matcher = Matcher(found["name"], value, not found["how"].startswith("!"), found["how"].endswith("~"))
    if matcher.is_regex:
        try:
            re.compile(value)
        except re.error as error:
            raise ValueError(f"{value} is no regular expression ({error})") from None
    return matcher
