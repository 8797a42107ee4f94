# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`upgrade_part` in the controller process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..module_utils.common.arguments import CONNECTIONS
from ..module_utils.entry.parts import PARTS, part_of
from ..plugin_utils.in_process import InProcessAction, Module


class ActionModule(InProcessAction):
    """See the documentation of the module. A part gets its options as a module of its name does."""

    def _name(self) -> str:
        named = str(self._task.args.get("part"))
        return named if named in PARTS else super()._name()

    def _with_given_options(self, arguments: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        found, options = super()._with_given_options(arguments, variables), self._module().CONTRACT.argument_spec
        # The group in module_defaults gives its connections to all parts, also to one that asks no server.
        return {name: value for name, value in found.items() if name in options or name not in CONNECTIONS}

    def _module(self) -> Module:
        return part_of(self._task.args)
