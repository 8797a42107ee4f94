"""`upgrade_part` in the controller process."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, cast

from ansible.errors import AnsibleActionFail

from ..module_utils.common.arguments import CONNECTIONS
from ..module_utils.entry.parts import OF_SYSTEM, PARTS, part_of
from ..plugin_utils.batch_of_run import batch_of_run
from ..plugin_utils.connection_inputs import unanswered
from ..plugin_utils.in_process import InProcessAction, Module, Result
from ..plugin_utils.inputs import OPENSEARCH_ROLE, SYSTEM
from ..plugin_utils.of_run import Run
from ..plugin_utils.run_options import default_limit, given_by, own_options
from ..plugin_utils.settling_of_run import of_settling_state
from ..plugin_utils.variables import module_of, path_of_module


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
        if self._part == OF_SYSTEM:
            self._system = str(given_by(self._templar, task_vars or {})(SYSTEM) or OPENSEARCH_ROLE)
        return super().run(tmp, task_vars)

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
