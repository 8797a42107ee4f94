"""The base of the collection's action plugins: the work of a module, done in the controller process.

A task runs here when its connection is local and it is not asynchronous. Otherwise, and if `ansible_python_interpreter`
names another Python than the one that runs Ansible (because its packages are needed), the shipped module of the same
name runs, with the same arguments.

The result is that of the shipped module: arguments are checked in the same way and with the same texts, `environment:`
is in force, secrets are masked, and warnings, deprecations and `invocation` are included. Three things differ on
purpose: progress is shown live, nothing is written to the system log, and `become` is refused.

This saves about half a second for each task. Each module has its own action plugin: if all were redirected to one,
ansible-lint would want every module to be called by that name.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, cast

from ansible import constants as C
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ..module_utils.common.ancestry import controller
from ..module_utils.common.masking import masked
from ..module_utils.common.task import Contract, Outcome, Task, so_far
from ..module_utils.common.words import printable
from ..module_utils.entry.guard import perform_guarded
from .arguments_check import CheckedArguments, check_arguments, plain
from .batch_of_run import batch_of_run
from .connection_inputs import unanswered
from .fleet_of_run import FleetOfRun
from .inputs_of_run import options_of_inputs
from .machine_of_run import options_of_machine
from .of_run import Run, words_of_notice
from .pausable_gates import lock_of_gate
from .run_options import ALL, ASKED, NONE, SYSTEM, as_list, given_by, given_options
from .serving_playbooks import options_of_playbook
from .settling_of_run import options_to_settle
from .silences_of_run import options_of_silences
from .spoken import Speech, speech_of
from .step_of_run import options_of_step
from .surroundings import (
    environment_of_task,
    kept_from_the_terminal,
    load_early,
    load_filters_early,
    show_lines_at_once,
)
from .voice import SCREEN, DisplayVoice, label_of, longest_of

Result = dict[str, Any]

DISCOVERED = ("auto", "auto_silent", "auto_legacy", "auto_legacy_silent")
"""Values of ansible_python_interpreter that name no Python."""

JSON_OUTPUT = ("json", "jsonl")
"""Stdout callbacks whose output is read by programs: with them, live lines go to standard error."""

OVER = "\r\x1b[2K"
"""Moves the cursor to the start of its line, and clears the line."""

# Plugins are loaded in the controller before it forks its workers; these calls work only there.
load_early(("urllib3", "kubernetes"))
load_early(f"{__name__.rpartition('.plugin_utils.')[0]}.lookup.{each}" for each in ("batch_of_run", "order_of_run"))
load_filters_early()
show_lines_at_once()
SCREEN.longest = longest_of(os.environ, terminal=sys.stdout.isatty())

display = Display()


class Module(Protocol):
    """A module of the collection: its arguments and its work."""

    CONTRACT: Contract

    def run(self, task: Task, /) -> Outcome:
        """Do the work of the module."""


@dataclass(frozen=True)
class _Shown:
    """The output of Ansible, in the words of the reader; nothing with `no_log`."""

    speech: Speech
    silent: bool

    def line(self, text: str, *, done: bool = False) -> None:
        """See `Output`. It overwrites a live line."""
        to_stderr = str(C.DEFAULT_STDOUT_CALLBACK).rsplit(".", 1)[-1] in JSON_OUTPUT
        if not self.silent:
            if SCREEN.width:
                self.live("")
            display.display(self.speech.text(text), color=C.COLOR_OK if done else None, stderr=to_stderr)

    def live(self, text: str) -> None:
        """See `Output`."""
        if not self.silent:
            display.display(f"{OVER}{self.speech.text(text)}", screen_only=True, newline=False)


class InProcessAction(ActionBase):
    """An action plugin is a subclass with the name of its module, which has a `CONTRACT` and a `run`."""

    _supports_check_mode = True
    _supports_async = True

    def __init_subclass__(cls, **more: Any) -> None:
        """Imports the module with its action plugin, in the controller.

        The importer of ansible-core compiles sources at each import, so otherwise each worker would do so.
        """
        super().__init_subclass__(**more)
        load_early((_module_of(cls, cls.__module__.rpartition(".")[2]),))

    def run(self, tmp: str | None = None, task_vars: Mapping[str, Any] | None = None) -> Result:
        """The result of the module, wherever it ran.

        Raises:
            AnsibleError: from ansible-core, for what it refuses before any module runs.
        """
        variables = dict(task_vars or {})
        path, name = str(self._task.get_path() or ""), self._name()
        self._speech = speech_of(path, name, self._task.args, variables)
        self._task.args = self._with_given_options(self._task.args, variables)
        # Which limit its sentences name depends on all options.
        self._speech = speech_of(path, name, self._task.args, variables)
        return self._speech.result(self._run_somewhere(tmp, variables))

    def _with_given_options(self, arguments: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of the task, and those that the variables of its run give."""
        name, options = self._name(), self._module().CONTRACT.argument_spec
        own = {option: as_list(value, options.get(option, {})) for option, value in arguments.items()}
        whole = self._speech.own or is_of_system(str(self._task.get_path() or ""), variables)
        level = ALL if whole else str(own.pop(ASKED, NONE))
        words = words_of_notice(name, Run(given_by(self._templar, variables), variables)) if level == ALL else {}
        templar = (
            self._templar.copy_with_new_env(available_variables={**variables, **words}) if words else self._templar
        )
        given = given_by(templar, variables)
        found = given_options(name, options, own, level, given)
        if level == ALL:
            run = Run(given, variables)
            found |= run.options(name, options, own)
            found |= options_of_inputs(name, given)
            found |= options_to_settle(name, own, given, run)
            found |= options_of_playbook(name, own, given, run)
            found |= options_of_step(name, own, given, variables)
            found |= options_of_silences(name, own, given, variables)
            found |= options_of_machine(name, own, given, variables)
            found |= FleetOfRun(given, variables).options(name, own)
            batch = batch_of_run(variables, given)
            if batch is not None:
                found |= {**batch.options(name, own), **lock_of_gate(name, own, given)}
        given_too = {option: value for option, value in found.items() if option in options and not unanswered(value)}
        return {**given_too, **own}

    def _run_somewhere(self, tmp: str | None, variables: dict[str, Any]) -> Result:
        result: Result = super().run(tmp, variables)
        if not self._belongs_here(variables):
            return self._run_shipped(result, variables)
        # A variable such as ansible_become in group_vars/all is meant for hosts, but this is the controller.
        if self._connection.become is not None and self._task.become:
            sentence = (
                f"{self._task.action} asks an API from the controller process and cannot become another user there:"
                " set become: false for this task."
            )
            return {**result, "failed": True, "msg": sentence}
        environment: dict[str, Any] = {}
        self._compute_environment_string(environment)
        with environment_of_task(environment):
            return {**result, **self._run_here(variables)}

    def shown(self, text: str) -> None:
        """Show a line that stays, of work that is not that of a module."""
        _Shown(Speech(own=False, limit=""), silent=bool(self._task.no_log)).line(printable(text))

    def _belongs_here(self, variables: Mapping[str, Any]) -> bool:
        if self._connection.transport != "local" or self._task.async_val:
            return False
        of_host: Mapping[str, Any] = variables
        if self._task.delegate_to:
            of_host = variables.get("ansible_delegated_vars", {}).get(self._task.delegate_to, variables)
        wanted = self._templar.template(of_host.get("ansible_python_interpreter"))
        return not wanted or wanted in DISCOVERED or is_this_python(str(wanted))

    def _run_shipped(self, result: Result, variables: dict[str, Any]) -> Result:
        wrap_async = bool(self._task.async_val and not self._connection.has_native_async)
        arguments = dict(self._task.args)  # ansible-core adds its own to the dictionary it is given
        shipped = self._execute_module(
            module_name=self._called(), module_args=arguments, task_vars=variables, wrap_async=wrap_async
        )
        return {**result, **shipped}

    def _run_here(self, variables: Mapping[str, Any]) -> Result:
        module = self._module()
        checked = check_arguments(module.CONTRACT, self._called(), self._task.args)
        warnings = list(checked.warnings)
        if checked.error:
            return _masked({"failed": True, "msg": checked.error}, checked, warnings)
        label = label_of(variables, own=self._speech.own)
        voice = DisplayVoice(_Shown(self._speech, silent=bool(self._task.no_log)), label, checked.secrets)
        task = Task(
            params=checked.params,
            check_mode=bool(self._task.check_mode),
            diff_mode=bool(self._task.diff),
            voice=voice,
            warn=lambda line: warnings.append(printable(line)),
            parents=controller(),
            in_controller=True,
        )
        with kept_from_the_terminal() as text:
            result = _worked(module, task, checked, warnings)
        voice.finish()
        if text.getvalue() and not self._task.no_log:
            host = str(variables.get("inventory_hostname", ""))
            display.vvvv(f"libraries said: {printable(masked(text.getvalue(), checked.secrets))}", host=host)
        return result

    def _called(self) -> str:
        """The module that does the work: that of the task."""
        return str(self._task.action)

    def _name(self) -> str:
        """The name by which variables and the run give options to the task."""
        return self._called().rpartition(".")[2]

    def _module(self) -> Module:
        """The module that the task names."""
        return cast(Module, import_module(_module_of(type(self), self._name())))


def _module_of(action: type, name: str) -> str:
    """The module `name` of the collection that the action plugin is in, as it is imported."""
    return f"{action.__module__.rpartition('.action.')[0]}.modules.{name}"


def is_of_system(path: str, variables: Mapping[str, Any]) -> bool:
    """Whether the task at this path is one of the role of the system, also if that role is of another collection.

    A file of the user's own tasks that the role includes has the variables of the role, but is not one of its files.
    """
    role, place = variables.get("ansible_role_name", ""), str(variables.get("role_path") or "")
    return bool(place) and role == variables.get(SYSTEM) and path.startswith(f"{place.rstrip('/')}/")


def is_this_python(path: str) -> bool:
    """Whether the path names the running Python. Another name for it in the same directory is the same Python.

    In another directory, a link to the same file can be another environment with other packages.
    """
    here = sys.executable
    return path == here or (
        os.path.dirname(path) == os.path.dirname(here) and os.path.realpath(path) == os.path.realpath(here)
    )


def _worked(module: Module, task: Task, checked: CheckedArguments, warnings: list[str]) -> Result:
    try:
        return _masked(perform_guarded(module.CONTRACT, module.run, task), checked, warnings)
    except Exception as error:  # noqa: BLE001 - all unforeseen errors; timeout, SIGTERM and Ctrl-C pass through
        text = " ".join(printable(str(masked(str(error), checked.secrets))).split())
        said = f"This is a bug in stateful.upgrade: {type(error).__name__}: {text}"
        failed: Result = {**so_far(task), "failed": True, "msg": said}
        if _traceback_wanted():
            failed["exception"] = traceback.format_exc()
        return _masked(failed, checked, warnings)


def _traceback_wanted() -> bool:
    shown = getattr(C, "DISPLAY_TRACEBACK", None)  # since ansible-core 2.19
    if shown is None:
        return bool(display.verbosity >= 3)
    return not {"always", "error"}.isdisjoint(shown)


def _masked(result: Result, checked: CheckedArguments, warnings: list[str]) -> Result:
    """The result as AnsibleModule would hand it over: plain data without any secret."""
    if getattr(C, "INJECT_INVOCATION", True):  # an option since ansible-core 2.21; before, always
        result["invocation"] = {"module_args": checked.params}
    if warnings:
        result["warnings"] = list(dict.fromkeys(warnings))
    if checked.deprecations:
        result["deprecations"] = list(checked.deprecations)
    hidden: Result = masked(plain(result), checked.secrets)
    return hidden
