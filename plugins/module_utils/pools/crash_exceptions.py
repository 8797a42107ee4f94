"""The exception that ended the main thread of a Java server, in the words that a person needs. Pure.

A stack names the outermost exception first and what caused it last (java.lang.Throwable.printStackTrace). The last one
is the cause, but some of them say nothing about this server ("Address already in use"): then the one above it, which
names the thing, comes first. Both servers print the stack once more on the error stream, with "Likely root cause".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .crash_lines import FRAME

_LOGGED = re.compile(r"\[\d{4}-\d\d-\d\d")
_ENDS = re.compile(
    r"uncaught exception|[Ff]atal |\[main\]|\.Bootstrap\b|thread \"main\"|^Error: |For complete error details"
)
"""Words before an exception that ends the server; it lives on with one that it only logs."""
_CAUSED = re.compile(r"\s*(?:Likely root cause|Caused by): (.+)$")
_EXCEPTION = re.compile(
    r"(?:^|[\s:])((?:[a-z]\w*\.)*[A-Z]\w*(?:Exception|Error)|(?:[a-z]\w*\.)+(?:Exception|Error))(?:(\[)|: |$)(.*)$"
)
_NESTED = re.compile(r"(.*?\]?)\];\s*nested: .*$")
_WRAPPING = re.compile(r"^(?:[\w.]*\.)?(?:StartupException|BootstrapException|InvocationTargetException)(?:: |$)")
_OF_SERVERS = re.compile(r"^org\.(?:opensearch|elasticsearch)\.[\w.]+: ")
"""The class of an exception of the servers says nothing that its words do not say."""
_CLASS = re.compile(r"^[\w.$]+(?:Exception|Error): ")
_NAMES = re.compile(r"[/\[\]'\d]|\w\.\w")
"""A message that names a thing: a path, a setting, a version, a number, a file."""
_NO_MESSAGE = re.compile(r"For complete error details|ERROR: |uncaught exception in thread|\s*Suppressed: |\s*$")


@dataclass
class _Stack:
    """One exception and what caused it, the outermost first."""

    fatal: bool
    words: list[str] = field(default_factory=list)


def fatal_exception(lines: Sequence[str]) -> str:
    """The cause in the last stack that ended the server; empty if there is none."""
    fatal = [stack for stack in _stacks(lines) if stack.fatal and stack.words]
    # The copy on the error stream may name less than the one in the log before it.
    return max((_cause(each.words) for each in reversed(fatal[-2:])), key=_names_a_thing, default="")


def _stacks(lines: Sequence[str]) -> Iterator[_Stack]:
    """The stacks in a log. Lines directly after an exception are still its message, up to a frame or another header."""
    stack, fatal, goes_on = _Stack(False), True, False
    for line in lines:
        logged = bool(_LOGGED.match(line))
        fatal = bool(_ENDS.search(line)) or (fatal and not logged)
        if logged or FRAME.match(line) or _NO_MESSAGE.match(line):
            goes_on = False
        elif caused := _CAUSED.match(line):
            stack.words.append(caused[1])
            goes_on = True
        elif goes_on:
            stack.words[-1] += f" {line.strip()}"
        elif found := _EXCEPTION.search(line):
            yield stack
            stack = _Stack(fatal, [line[found.start(1) :]])
            goes_on = True
    yield stack


def _cause(words: Sequence[str]) -> str:
    """The innermost exception that names a thing, with the one above it where that one says more."""
    said = [text for each in words if (text := _plain(each))] or [words[-1]]
    root = said[-1]
    found = next((each for each in reversed(said) if _names_a_thing(each)), root)
    for above in reversed(said[: said.index(found)]):
        if _message(found) in above:
            found = above
    if _message(root) not in found:
        found = f"{found}: {_message(root)}"
    outer = _outer(words[0])
    return found if outer in found else f"{outer}: {found}"


def _names_a_thing(words: str) -> bool:
    return bool(_NAMES.search(_message(words)))


def _plain(words: str) -> str:
    """An exception without the names of classes that only wrap it, and of the servers; empty if nothing is left."""
    text = _unwrapped(words)
    found = _EXCEPTION.match(text)
    if found is not None and found[2]:
        if _NESTED.match(found[3]):
            return _outer(words)
        text = found[3].rstrip("];") if "." not in found[1] else f"{found[1]}: {found[3].rstrip('];')}"
    return _OF_SERVERS.sub("", text)


def _outer(words: str) -> str:
    """The words of the outer exception of `Outer[words]; nested: Inner[…]` if they name a thing; else empty."""
    found = _EXCEPTION.match(_unwrapped(words))
    nested = _NESTED.match(found[3]) if found is not None and found[2] else None
    return nested[1] if nested is not None and _NAMES.search(nested[1]) else ""


def _unwrapped(words: str) -> str:
    text, before = " ".join(words.split()), ""
    while text != before:
        text, before = _WRAPPING.sub("", text), text
    return text


def _message(words: str) -> str:
    """An exception without the name of its class."""
    return _CLASS.sub("", words)
