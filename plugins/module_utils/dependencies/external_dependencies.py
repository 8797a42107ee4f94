# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of the module `external_dependencies`: each one is asked, side by side, until all are available."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from ..common.arguments import CONNECTIONS, WAIT
from ..common.errors import Refusal
from ..common.task import Contract, Outcome, Task
from ..common.web import NoAnswer, fetch
from .addresses import Dependency, Kind, dependencies_in, fault_of_status, judge_dependencies

MOST = 8
"""Dependencies that are asked at the same time."""
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
    """Ask each dependency. Nothing is changed."""
    wanted = dependencies_in(task.params["dependencies"])

    def look() -> Causes:
        return causes_of(wanted, float(task.params["timeout"]))

    causes, verdict = task.wait(look, judge_dependencies, stoppable=True)
    return Outcome(verdict, more={"unavailable": [each.shown for each, cause in causes if cause]})


def causes_of(wanted: Sequence[Dependency], seconds: float) -> Causes:
    """The cause for which each is not available; empty for one that is. All are asked side by side."""
    with ThreadPoolExecutor(MOST) as threads:
        return list(zip(wanted, threads.map(partial(_cause, seconds=seconds), wanted), strict=True))


def _cause(dependency: Dependency, seconds: float) -> str:
    try:
        if dependency.url:
            return fault_of_status(dependency, fetch(dependency.url, seconds).status)
        if dependency.kind is Kind.DNS:
            socket.getaddrinfo(dependency.host, None)
        else:
            socket.create_connection((dependency.host, dependency.port or 0), seconds).close()
    except NoAnswer as error:
        return str(error)
    except Refusal as error:
        return error.verdict.reasons[0].message.rstrip(".")
    except OSError as error:
        return str(error.strerror or error)
    return ""
