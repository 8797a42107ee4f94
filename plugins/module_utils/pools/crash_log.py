"""The lines of a log that say why a server did not start. Pure.

After a failure a server closes what it had opened, and logs that, so the last line seldom names the cause. The cause
is, in this order: failed checks (BootstrapChecks of both servers, and JvmOptionsParser for the options of the JVM,
number them), words of the JVM that could not run (they come through the launcher's "starting java failed"), an
exception that ended the main thread, and words of a script or of the kernel before the server.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..common.verdict import Reason, Verdict
from ..common.words import shortened
from .crash_exceptions import fatal_exception
from .crash_lines import FRAME, plain_lines, without_secrets

LOOKED_AT = 500
"""The lines at the end of a log that are searched for the cause. A stack with suppressed exceptions has hundreds."""
MOST = 10
"""The most lines that are shown."""
LONGEST = 400
"""The most characters of a cause that a sentence quotes."""
CRASHED = frozenset({"container_crashes", "container_crashed"})
"""The codes of reasons that a cause is added to."""

_STARTS = re.compile(r"version\[[^\]]+\], pid\[\d+\]")
"""The first line of a server about itself (Node of both servers)."""
_CHECKS = re.compile(r"bootstrap checks failed|encountered \[\d+\] errors? parsing")
_CHECK = re.compile(r"(?:bootstrap check failure )?\[\d+\](?: of \[\d+\])?: (.+?)(?:; for more information see \[.*)?$")
_JVM = tuple(
    re.compile(pattern)
    for pattern in (
        r"(Error opening .+)",
        r"(Native memory allocation \(\w+\) failed .+)",
        r"^#\s+((?:SIG[A-Z]+|Internal Error|Out of Memory Error) \(.+)",
        r"Terminating due to (java\.lang\.\w+Error.*)",
        r"((?:Unrecognized|Improperly specified|Conflicting|Missing) .*option.*)",
        r"(Invalid (?:maximum|initial) heap size.*)",
    )
)
"""Words of the JVM, those that say more first: a missing agent also ends the initialization."""
_JVM_ENDS = "Error: Could not create the Java Virtual Machine."
_JVM_BEGINS = "Error occurred during initialization of VM"
_PASSWORD = re.compile(r"No custom admin password found.*|Password .* (?:failed validation|is weak).*")
_SYSTEM = re.compile(
    r"Permission denied|Operation not permitted|No such file or directory|No space left on device|Read-only file system"
    r"|exec format error|glibc error|does not meet th(?:is|at) requirement|could not find java|command not found"
)
_LOGGED = re.compile(r"\[?\d{4}-\d\d-\d\d")
_ERROR = re.compile(r"(?:ERROR|Error|FATAL|Fatal|fatal)\b:? ?(.+)$")
_OF_NO_USE = re.compile(
    r"did not exit normally|exited unexpectedly|died while starting up|A fatal exception has occurred"
)


def last_lines(lines: Iterable[str]) -> list[str]:
    """The last lines without empty ones, without the frames of stacks, and without a password that was refused."""
    return [without_secrets(line) for line in lines if line.strip() and not FRAME.match(line)][-MOST:]


def cause(lines: Sequence[str]) -> str:
    """The cause that a log names; empty if it names none."""
    plain = plain_lines(lines)
    start = max((number for number, line in enumerate(plain) if _STARTS.search(line)), default=0)
    # A start that is logged may be an earlier one: a JVM that cannot run logs none.
    found = _cause(plain[start:]) or _cause(plain)
    return shortened(found, LONGEST)


def _cause(lines: Sequence[str]) -> str:
    return _failed_checks(lines) or _words_of_the_jvm(lines) or fatal_exception(lines) or _words_of_a_script(lines)


def _failed_checks(lines: Sequence[str]) -> str:
    """All checks that failed, as they were listed last."""
    last = max((number for number, line in enumerate(lines) if _CHECKS.search(line)), default=None)
    if last is None:
        return ""
    failed = dict[str, None]()
    for line in lines[last + 1 :]:
        if (check := _CHECK.match(line)) is None:
            break
        failed[check[1]] = None
    return "; ".join(failed) or _failed_checks(lines[:last])


def _words_of_the_jvm(lines: Sequence[str]) -> str:
    for pattern in _JVM:
        for line in reversed(lines):
            if found := pattern.search(line):
                return found[1].strip()
    for number, line in enumerate(lines):
        if line.strip() == _JVM_BEGINS and number + 1 < len(lines):
            return lines[number + 1].strip()
        if line.strip() == _JVM_ENDS and number and lines[number - 1].strip() not in {"", "error:"}:
            return lines[number - 1].strip()
    return ""


def _words_of_a_script(lines: Sequence[str]) -> str:
    own = [line.strip() for line in lines if not _LOGGED.match(line) and not _OF_NO_USE.search(line)]
    for pattern in (_PASSWORD, _SYSTEM):
        for line in reversed(own):
            if pattern.search(line):
                return without_secrets(line)
    return next((found[1] for line in reversed(own) if (found := _ERROR.match(line))), "")


def last_words(lines: Sequence[str]) -> dict[str, Any]:
    """Result fields: the last lines of a log, and one sentence about the cause, empty without any line."""
    shown, named = last_lines(lines), cause(lines)
    if named:
        return {"log": shown, "cause": f"Its log names the cause: {named.rstrip('.')}."}
    if not shown:
        return {"log": shown, "cause": ""}
    return {"log": shown, "cause": f"Its log ends with: {shortened(shown[-1].strip(), LONGEST).rstrip('.')}."}


def with_cause(verdict: Verdict, members: Iterable[Mapping[str, Any]]) -> Verdict:
    """The verdict, with the cause that a member's log names added to each reason about its crashing container."""
    sentences = {str(each["name"]): each["cause"] for each in members if each.get("cause")}
    return Verdict(tuple(_with_cause(each, sentences) for each in verdict.reasons))


def _with_cause(reason: Reason, sentences: Mapping[str, str]) -> Reason:
    words = reason.message.replace(",", " ").split()
    said = [sentence for name, sentence in sentences.items() if name in words]
    if reason.code not in CRASHED or not said:
        return reason
    return replace(reason, message=" ".join([reason.message, *said]))
