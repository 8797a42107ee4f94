"""`upgrade_part` in the controller process."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from copy import copy
from importlib import import_module
from typing import Any, cast

from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

from ..module_utils.common.arguments import CONNECTIONS
from ..module_utils.entry.parts import KUBEADM, OF_SYSTEM, OS_IMAGE, PARTS, SERVICE, part_of
from ..plugin_utils import kubeadm_steps, os_image_steps, service_steps
from ..plugin_utils.arguments_check import check_arguments
from ..plugin_utils.batch_of_run import batch_of_run
from ..plugin_utils.connection_inputs import unanswered
from ..plugin_utils.in_process import InProcessAction, Module, Result
from ..plugin_utils.inputs import OPENSEARCH_ROLE, SYSTEM
from ..plugin_utils.kubeadm_settings import Kubeadm
from ..plugin_utils.of_run import Run
from ..plugin_utils.on_machine import ModuleTimeLimit, TaskMachine
from ..plugin_utils.os_image_agent import URI
from ..plugin_utils.os_image_settings import OsImage
from ..plugin_utils.run_options import (
    ASKED,
    LOCALHOST,
    GivenVariables,
    default_limit,
    given_by,
    own_options,
    raw_variables,
)
from ..plugin_utils.settling_of_run import of_settling_state
from ..plugin_utils.variables import OWN, module_of, path_of_module

OnMachine = Callable[[TaskMachine, GivenVariables, Mapping[str, Any]], Result]
"""Carries out a part on the machine of the task, with the variables there and the options of the part."""
ON_MACHINE: Mapping[str, OnMachine] = {
    KUBEADM: lambda machine, given, asked: kubeadm_steps.carried_out(
        machine, Kubeadm(given), asked["state"], asked["programs"]
    ),
    OS_IMAGE: lambda machine, given, asked: os_image_steps.carried_out(machine, OsImage(given), asked["state"]),
    SERVICE: lambda machine, given, asked: service_steps.carried_out(
        machine, service_steps.Service(given), asked["state"]
    ),
}
SECRET = (URI, service_steps.COPY)
"""The actions whose options may have a token or a password."""


class ActionModule(InProcessAction):
    """See the documentation of the module. A part gets its options like a module of that name.

    The part `system` is the module of the system (`upgrade_system`), which may be in another collection. The
    options that only this system has come from the variables with their names.
    """

    _part = ""
    _system = ""

    def run(self, tmp: str | None = None, task_vars: Mapping[str, Any] | None = None) -> Result:
        """See `InProcessAction`."""
        # A task that is tried again has its options already.
        self._part = str(self._task.args.get("part") or self._part)
        if self._part in ON_MACHINE:
            return {**ActionBase.run(self, tmp, task_vars), **self._on_machine(dict(task_vars or {}))}
        if self._part == OF_SYSTEM:
            self._system = str(given_by(self._templar, task_vars or {})(SYSTEM) or OPENSEARCH_ROLE)
        return super().run(tmp, task_vars)

    def _on_machine(self, variables: dict[str, Any]) -> Result:
        """The step on the machine of the task, which may be reached by any connection."""
        contract = PARTS[self._part].CONTRACT
        own = {name: value for name, value in self._task.args.items() if name not in (*CONNECTIONS, ASKED)}
        checked = check_arguments(contract, self._called(), own)
        if checked.error:
            return {"failed": True, "msg": checked.error}
        limit, found = ModuleTimeLimit(int(self._task.timeout or 0)), dict[str, Any]()
        carry_out = self._module_on_machine if self._part == KUBEADM else self._module_alone

        def execute(name: str, options: dict[str, Any], checks: bool) -> dict[str, Any]:
            before, self._task.check_mode = self._task.check_mode, checks
            try:
                result = limit.within(lambda: carry_out(name, options, variables))
            finally:
                self._task.check_mode = before
            # Such as the Python that was found there.
            found["ansible_facts"] = {**found.get("ansible_facts", {}), **(result.get("ansible_facts") or {})}
            found["warnings"] = [*found.get("warnings", ()), *(result.get("warnings") or ())]
            return result

        def call(name: str, options: dict[str, Any], on_controller: bool) -> dict[str, Any]:
            return limit.within(lambda: self._action(name, options, variables, on_controller))

        machine = TaskMachine(execute, call, self.shown, checks=bool(self._task.check_mode))
        done = ON_MACHINE[self._part](machine, given_by(self._templar, variables), checked.params)
        return {**done, **{name: value for name, value in found.items() if value}}

    def _action(self, name: str, options: dict[str, Any], variables: dict[str, Any], here: bool) -> dict[str, Any]:
        """The result of another action on the machine, or on the controller (`here`) as of a task that delegates."""
        task, context, connection, known = copy(self._task), self._play_context, self._connection, variables
        task.action, task.args = name, {**self._shared_options(name), **options}
        # What changes anything is not called in check mode.
        task.no_log, task.check_mode = task.no_log or name in SECRET, False
        if here:
            task.delegate_to, task.become, context = LOCALHOST, False, copy(context)
            connection = self._shared_loader_obj.connection_loader.get("local", context, os.devnull)
            connection.set_options()
            of_controller = {"ansible_facts": {}, **raw_variables(variables, LOCALHOST)}
            known = {**variables, "ansible_delegated_vars": {LOCALHOST: of_controller}}
        plugin = self._shared_loader_obj.action_loader.get(
            name,
            task=task,
            connection=connection,
            play_context=context,
            loader=self._loader,
            templar=self._templar,
            shared_loader_obj=self._shared_loader_obj,
        )
        try:
            return dict(plugin.run(task_vars=known))
        finally:
            plugin.cleanup()

    def _shared_options(self, name: str) -> dict[str, Any]:
        """The options that the play gives to the whole group of modules, if that one is of it."""
        given = {option: value for option, value in self._task.args.items() if option in (*CONNECTIONS, ASKED)}
        return given if name.startswith(f"{OWN}.") else {}

    def _module_on_machine(self, name: str, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        called = f"ansible.builtin.{name}"
        return dict(self._execute_module(module_name=called, module_args=options, task_vars=variables))

    def _module_alone(self, name: str, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        """As of a task of its own: its folder on the machine is removed, since a restart may remove it, too."""
        shell = self._connection._shell
        try:
            return self._module_on_machine(name, options, variables)
        except AnsibleConnectionFailure:
            shell.tmpdir = None
            raise
        finally:
            folder, shell.tmpdir = shell.tmpdir, None
            self._remove_tmp_path(folder)

    def _called(self) -> str:
        return module_of(self._system) if self._system else super()._called()

    def _name(self) -> str:
        return self._part if self._part in PARTS else super()._name()

    def _with_given_options(self, arguments: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        options = self._module().CONTRACT.argument_spec
        if self._system:
            own = {name: value for name, value in arguments.items() if name != "part"}
            given = given_by(self._templar, variables)
            batch = batch_of_run(variables, given)
            of_state = batch.of_state() if batch is not None else of_settling_state(own, given, Run(given, variables))
            found = {**own_options(options, given), **of_state}
            known = {name: value for name, value in found.items() if name in options and not unanswered(value)}
            return {**default_limit(self._name(), own), **known, **super()._with_given_options(own, variables)}
        found = super()._with_given_options(arguments, variables)
        # The group in module_defaults gives its connections to all parts, even to one that contacts no server.
        return {name: value for name, value in found.items() if name in options or name not in CONNECTIONS}

    def _module(self) -> Module:
        if not self._system:
            return part_of({"part": self._part})
        try:
            return cast(Module, import_module(path_of_module(self._called())))
        except ImportError as error:
            said = f"{SYSTEM} is {self._system}, and its collection has no module {self._name()} ({error})."
            raise AnsibleActionFail(said) from error
