# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The entry point of every shipped module."""

from __future__ import annotations

from collections.abc import Callable

from ansible.module_utils.basic import AnsibleModule

from .task import Contract, Outcome, Task, perform


def run_as_module(contract: Contract, run: Callable[[Task], Outcome]) -> None:
    """Run as an ordinary Ansible module: no live progress, everything else as in the controller process."""
    module = AnsibleModule(
        argument_spec=contract.argument_spec,
        required_if=contract.required_if,
        required_together=contract.required_together,
        required_one_of=contract.required_one_of,
        mutually_exclusive=contract.mutually_exclusive,
        supports_check_mode=True,
    )
    task = Task(
        params=module.params,
        check_mode=module.check_mode,
        diff_mode=module._diff,
        progress=module.debug,
        warn=module.warn,
    )
    result = perform(run, task)
    if result.pop("failed", False):
        module.fail_json(**result)
    module.exit_json(**result)
