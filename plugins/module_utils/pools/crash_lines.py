"""The log of a Java server as plain lines, whichever layout it is written in. Pure.

Elasticsearch logs JSON in a container: in 8 and later the fields of ECS, with a stack as one text; in 7 a stack as a
list with one text for each line (ESJsonLayout), so that only all lines together are an object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

FRAME = re.compile(r"\s*\"?(at [\w.$/<>@-]+\(.*\)( ~?\[.*\])?|\.\.\. \d+ more|<<<truncated>>>)\"?[\],} ]*$")
"""A line of a stack that is no exception (java.lang.Throwable.printStackTrace, and in a list of JSON)."""
_IN_LIST = re.compile(r"(?:\"stacktrace\": \[)?(\".*\"),?[\]} ]*$")
_OPEN = re.compile(r"\{.*,$")
_PASSWORD = re.compile(r"(Password ).*( failed validation| is weak)")


def plain_lines(lines: Iterable[str]) -> list[str]:
    """The lines of a log without layout: one for each line of a message or of a stack."""
    return [line for each in lines for line in _plain(each.rstrip())]


def without_secrets(line: str) -> str:
    """The line without the password that the demo installer of OpenSearch Security quotes when it refuses it."""
    return _PASSWORD.sub(r"\1(not shown here)\2", line)


def _plain(line: str) -> Iterator[str]:
    if line.startswith("{"):
        record = _object(line) or (_object(line[:-1] + "}") if _OPEN.match(line) else {})
        if record:
            yield from _of_record(record)
            return
    if found := _IN_LIST.match(line):
        text = _text(found[1])
        yield from (text or line).splitlines()
        return
    yield line


def _of_record(record: dict[str, Any]) -> Iterator[str]:
    level = record.get("log.level") or record.get("level") or ""
    when = record.get("@timestamp") or record.get("timestamp") or ""
    logger = record.get("log.logger") or record.get("component") or ""
    yield from f"[{when}][{level}][{logger}] {record.get('message', '')}".splitlines()
    yield from str(record.get("error.stack_trace", "")).splitlines()
    stack = record.get("stacktrace")
    for each in stack if isinstance(stack, list) else ():
        yield from str(each).splitlines()


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _text(text: str) -> str:
    try:
        found = json.loads(text)
    except ValueError:
        return ""
    return found if isinstance(found, str) else ""
