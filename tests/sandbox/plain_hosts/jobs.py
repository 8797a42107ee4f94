"""The modules of Ansible on a machine in memory: each is started by its name, and asked for its result by a number."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from tests.sandbox.web import Answer, CutOff, Request

Result = dict[str, Any]
Job = Callable[[], "Result | None"]
"""The result of a module; None while it goes on."""
Modules = Mapping[str, Callable[[Mapping[str, Any]], Job]]
JOBS = "jobs"
UNDER_WAY = 202
PATH = "/hosts/"
"""The beginning of the path of each request to a host: it goes on with the host and the module, or with a job."""
CHECKS = "check_mode"
"""The option that says that nothing may be changed."""


class UnknownModule(Exception):
    """The host does not know what a module does."""


class Jobs:
    """A handler. A module that was started goes on, whatever becomes of its controller."""

    def __init__(self, modules: Modules) -> None:
        self._modules = modules
        self._jobs: dict[str, Job] = {}
        self._numbers = itertools.count(1)

    def __call__(self, request: Request) -> Answer:
        """Start a module, or ask for the result of a job. Raises CutOff where the job is not known any more."""
        *_path, what, name = request.path.split("/")
        if what == JOBS:
            if name not in self._jobs:
                raise CutOff(made=False)
            result = self._jobs[name]()
            return Answer(UNDER_WAY, {}) if result is None else Answer(200, result)
        if name not in self._modules:
            raise UnknownModule(name)
        number = str(next(self._numbers))
        self._jobs[number] = self._modules[name](request.body or {})
        return Answer(UNDER_WAY, {"job": number})

    def lose(self) -> None:
        """Forget all jobs: their connections end."""
        self._jobs.clear()


def over(result: Result) -> Job:
    """A job that has ended when it is asked."""
    return lambda: {"changed": False, **result}
