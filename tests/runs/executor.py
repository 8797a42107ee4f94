"""ansible-playbook in this process: the executor of ansible-core itself, whose workers are calls instead of forks.

The settings of Ansible are those that this process has read at the import of ansible-core.
"""

from __future__ import annotations

import contextlib
import contextvars
import copy
import io
import itertools
import json
import os
import pickle
import signal
import threading
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any
from unittest.mock import patch

from ansible import cli, context
from ansible._internal import _task
from ansible.cli.playbook import PlaybookCLI
from ansible.errors import AnsibleError
from ansible.executor import task_queue_manager
from ansible.executor.task_executor import TaskExecutor
from ansible.executor.task_queue_manager import CallbackSend, DisplaySend
from ansible.executor.task_result import _RawTaskResult
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.vault import VaultSecretsContext
from ansible.plugins import strategy as strategies
from ansible.utils.context_objects import CLIArgs
from ansible.utils.display import Display
from ansible.utils.vars import load_extra_vars, load_options_vars
from ansible_collections.stateful.upgrade.plugins.module_utils.common import ancestry
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.compiled_templates import key_of
from jinja2 import Environment

from tests.runs.prepared import ROOT
from tests.runs.turns import RUN, OneRun
from tests.scenarios.playbook import Played

display = Display()
OF_RUN = "run"
"""The prefix of the number of a run in the identity of its process."""
_runs = itertools.count(1)
_living: set[int] = set()
"""The numbers of the runs that go on."""
_compiled: dict[str, CodeType | str] = {}
_read: dict[str, Any] = {}
"""The files of the collection that were parsed in this process."""


class Results:
    """In the place of the queue from the workers: what is put into it is dealt with at once."""

    def __init__(self) -> None:
        self.strategy: Any = None
        self.output: Any = None

    def put(self, value: object) -> None:
        """Handle a message of a worker as the thread for results does."""
        if isinstance(value, DisplaySend):
            with self._as_controller():
                getattr(display, value.method)(*value.args, **value.kwargs)
        elif isinstance(value, CallbackSend):
            result = self.strategy._convert_wire_task_result_to_raw(value.wire_task_result)
            with self._as_controller():
                self.strategy._tqm.send_callback(value.method_name, result)
        elif not isinstance(value, strategies.StrategySentinel):
            # As from another process: nothing of the result is shared with the task.
            sent = pickle.loads(pickle.dumps(value))  # noqa: S301 - it is our own
            self.strategy._results.append(self.strategy._convert_wire_task_result_to_raw(sent))

    def send_callback(self, method: str, result: _RawTaskResult) -> None:
        """See `FinalQueue`."""
        self.put(CallbackSend(method_name=method, wire_task_result=result.as_wire_task_result()))

    def send_display(self, method: str, *arguments: Any, **named: Any) -> None:
        """See `FinalQueue`."""
        self.put(DisplaySend(method, *arguments, **named))

    def close(self) -> None:
        """Nothing is open."""

    @contextlib.contextmanager
    def _as_controller(self) -> Iterator[None]:
        queue, display._final_q = display._final_q, None
        try:
            with contextlib.redirect_stdout(self.output):
                yield
        finally:
            display._final_q = queue


class Worker:
    """In the place of a worker process. Nothing that a task changes in memory is there for the next one."""

    exitcode = 0

    def __init__(self, **given: Any) -> None:
        self._given = given

    def start(self) -> None:
        """Carry out the task."""
        given = self._given
        host, original = given["host"], given["task"]
        task = original.copy(exclude_parent=True, exclude_tasks=True)
        task._parent = original._parent
        names = ("play_context", "loader", "shared_loader_obj", "final_q", "variable_manager")
        display._final_q = given["final_q"]
        try:
            with _task.TaskContext(task):
                done = TaskExecutor(host, task, given["task_vars"], *(given[each] for each in names)).run()
        finally:
            display._final_q = None
        result = _RawTaskResult(host=host, task=task, return_data=done, task_fields=task.dump_attrs())
        given["final_q"].put(result.as_wire_task_result())

    def is_alive(self) -> bool:
        """It has ended when it is asked."""
        return False

    def close(self) -> None:
        """Nothing is open."""


def play(playbook: str, variables: Mapping[str, Any], *more: str, output: io.StringIO | None = None) -> Played:
    """Run a playbook to its end, with these variables and further arguments of ansible-playbook.

    A `BaseException` that is raised in a task goes through, as if the process had been killed there.
    """
    output = output or io.StringIO()
    # Ansible reads them once per process.
    for function, kept in ((load_extra_vars, "extra_vars"), (load_options_vars, "options_vars")):
        function.__dict__.pop(kept, None)
    with _in_this_process(output), contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        program = PlaybookCLI(["ansible-playbook", playbook, "-e", json.dumps(dict(variables)), *more])
        try:
            code = program.run()
        except AnsibleError as error:
            display.error(error)
            code = error._exit_code
    return Played(int(code), output.getvalue())


@contextlib.contextmanager
def _in_this_process(output: io.StringIO) -> Iterator[None]:
    begun = strategies.StrategyBase.__init__
    patches: list[Any] = [
        patch.object(strategies, "WorkerProcess", Worker),
        patch.object(strategies, "results_thread_main", lambda _strategy: None),
        patch.object(strategies.StrategyBase, "__init__", lambda self, tqm: _begin(begun, self, tqm, output)),
        patch.object(task_queue_manager, "FinalQueue", Results),
        # A thread takes none, and the process is that of the tests.
        patch.object(signal, "signal", lambda *_given: None),
        patch.object(cli, "init_plugin_loader", lambda *_paths: None),
        patch.object(context, "_init_global_context", _take_arguments),
        patch.object(context, "CLIARGS", context.CLIARGS),
        patch.object(VaultSecretsContext, "_current", None),
        patch.object(DataLoader, "load_from_file", _loaded(DataLoader.load_from_file)),
    ]
    with contextlib.ExitStack() as stack, one_process() as run:
        run.with_executor = True
        for each in patches:
            stack.enter_context(each)
        yield


@contextlib.contextmanager
def one_process() -> Iterator[OneRun]:
    """A run counts as a process of its own, and compiles no template that an earlier one has compiled."""
    _several_in_one_process()
    run = RUN.get() or OneRun(next(_runs))
    token = RUN.set(run)
    _living.add(run.number)
    run.ended = False
    try:
        yield run
    finally:
        _living.remove(run.number)
        run.ended = True
        RUN.reset(token)


def a_run() -> OneRun:
    """A run that is to be started in a thread of its own."""
    return OneRun(next(_runs))


@cache
def _several_in_one_process() -> None:
    """Prepares this process for runs that go on side by side, and therefore for good."""
    patch.object(ancestry, "_stat", _started_as(ancestry._stat)).start()
    patch.object(ancestry, "alive", _alive(ancestry.alive)).start()
    patch.object(ancestry, "place", _placed(ancestry.place)).start()
    patch.object(threading.Thread, "start", _starting(threading.Thread.start)).start()
    patch.object(Environment, "compile", _compiling(Environment.compile)).start()


def _begin(begun: Any, strategy: Any, tqm: Any, output: io.StringIO) -> None:
    tqm._final_q.strategy, tqm._final_q.output = strategy, output
    begun(strategy, tqm)


def _take_arguments(options: Any) -> None:
    context.CLIARGS = CLIArgs.from_options(options)


def _started_as(stat: Any) -> Any:
    """Each run is a process of its own: one that was killed is not alive because the next one has its number."""

    def started(pid: int) -> list[str] | None:
        fields: list[str] | None = stat(pid)
        run = RUN.get()
        # A worker takes its parent as the controller, here the process that started the tests. It ends with its run.
        if fields and run and pid in (os.getppid(), os.getpid()):
            fields[ancestry._STARTED] = f"{fields[ancestry._STARTED]}{OF_RUN}{run.number}"
        return fields

    return started


def _alive(alive: Any) -> Any:
    def is_alive(identity: str) -> bool:
        _process, _mark, number = identity.partition(OF_RUN)
        return int(number) in _living if number else bool(alive(identity))

    return is_alive


def _placed(place: Any) -> Any:
    def of_run() -> str:
        run = RUN.get()
        return f"{place()}{run.machine if run else ''}"

    return of_run


def _starting(start: Any) -> Any:
    """A thread that a run starts belongs to it."""

    def begin(thread: threading.Thread) -> None:
        here, run = contextvars.copy_context(), thread.run
        vars(thread)["run"] = lambda: here.run(run)
        start(thread)

    return begin


def _loaded(load: Any) -> Any:
    def loaded(self: Any, file_name: str, *more: Any, **named: Any) -> Any:
        key = str(file_name)
        if not Path(key).resolve().is_relative_to(ROOT / "roles") or more or named.get("json_only"):
            return load(self, file_name, *more, **named)
        if key not in _read:
            _read[key] = load(self, file_name, **{**named, "unsafe": True})
        return copy.deepcopy(_read[key])

    return loaded


def _compiling(compiled: Any) -> Any:
    def compile_once(self: Environment, source: Any, *options: Any, **named: Any) -> CodeType | str:
        key = key_of(self, source, options, named)
        if key not in _compiled:
            _compiled[key] = compiled(self, source, *options, **named)
        return _compiled[key]

    return compile_once
