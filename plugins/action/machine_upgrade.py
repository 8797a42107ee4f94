"""`machine_upgrade` in the controller process."""

from __future__ import annotations

from ..plugin_utils.in_process import InProcessAction


class ActionModule(InProcessAction):
    """See the documentation of the module."""
