"""The work of the module `external_dependencies`: all are checked at the same time, until each is available."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Thread

from ..common.arguments import CONNECTIONS, WAIT
from ..common.errors import Refusal
from ..common.task import Contract, Outcome, Task
from ..common.web import NoAnswer, fetch
from .addresses import Dependency, DependencyKind, dependencies_in, fault_of_status, judge_dependencies

MOST = 8
"""Dependencies that are checked at the same time."""
CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **WAIT,
        "wait_timeout": {"type": "int", "default": 300},
        "wait_sleep": {"type": "float", "default": 5.0},
        "dependencies": {"type": "list", "elements": "str", "required": True},
        "timeout": {"type": "int", "default": 10},
    },
)

Causes = list[tuple[Dependency, str]]


def run(task: Task) -> Outcome:
    """Check each dependency. Nothing is changed."""
    wanted = dependencies_in(task.params["dependencies"])

    def look() -> Causes:
        return causes_of(wanted, float(task.params["timeout"]))

    causes, verdict = task.wait(look, judge_dependencies, stoppable=True)
    return Outcome(verdict, more={"unavailable": [each.shown for each, cause in causes if cause]})


@dataclass
class _DependencyQuestion:
    """One dependency that is being asked."""

    dependency: Dependency
    cause: str | None = None
    """None until there is an answer."""
    error: Exception | None = None

    def ask(self, seconds: float) -> None:
        """Keep the cause, or the error for the thread that waits for it."""
        try:
            self.cause = _cause(self.dependency, seconds)
        except Exception as error:  # noqa: BLE001 - raised again in the thread of the task
            self.error = error


def causes_of(wanted: Sequence[Dependency], seconds: float) -> Causes:
    """Why each is not available; empty for one that is. They are checked at the same time.

    The resolver of the C library has no time limit (getaddrinfo(3)), so after `seconds` the answer of a thread is no
    longer waited for. The thread ends with the resolver, or with the process.
    """
    causes: Causes = []
    for first in range(0, len(wanted), MOST):
        questions = [_DependencyQuestion(each) for each in wanted[first : first + MOST]]
        threads = [Thread(target=each.ask, args=(seconds,), daemon=True) for each in questions]
        end = time.monotonic() + seconds
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))
        causes += [(each.dependency, _answered(each, seconds)) for each in questions]
    return causes


def _answered(question: _DependencyQuestion, seconds: float) -> str:
    if question.error is not None:
        raise question.error
    return f"there was no answer within {seconds:g} s" if question.cause is None else question.cause


def _cause(dependency: Dependency, seconds: float) -> str:
    try:
        if dependency.url:
            return fault_of_status(dependency, fetch(dependency.url, seconds).status)
        if dependency.kind is DependencyKind.DNS:
            socket.getaddrinfo(dependency.host, None)
        else:
            socket.create_connection((dependency.host, dependency.port or 0), seconds).close()
    except NoAnswer as error:
        return str(error)
    except Refusal as error:
        return error.verdict.reasons[0].message.rstrip(".")
    except OSError as error:
        return str(error.strerror or error)
    except UnicodeError:
        return "its name is none that can be looked up"
    return ""
