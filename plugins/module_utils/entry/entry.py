"""The entry point of every shipped module."""

from __future__ import annotations

import json
from collections.abc import Callable

from ansible.module_utils.basic import AnsibleModule

from ..common.ancestry import of_module
from ..common.credentials import secrets_of_addresses
from ..common.masking import long_ones, mask_short, masked
from ..common.task import Contract, Outcome, Task, so_far
from ..common.voice import Lines
from ..common.words import printable
from .guard import perform_guarded


def run_as_module(contract: Contract, run: Callable[[Task], Outcome]) -> None:
    """Run as an ordinary Ansible module: without live progress, but otherwise as in the controller process."""
    module = AnsibleModule(
        argument_spec=contract.argument_spec,
        required_if=contract.required_if,
        required_together=contract.required_together,
        required_one_of=contract.required_one_of,
        mutually_exclusive=contract.mutually_exclusive,
        supports_check_mode=True,
    )

    given = secrets_of_addresses(module.params).union(map(str, module.no_log_values))
    secrets = given.union(map(printable, given))
    # AnsibleModule masks these in everything that it prints; the short ones are masked below.
    module.no_log_values = set(long_ones(secrets))

    def said(text: str) -> str:
        return printable(str(masked(text, secrets)))

    task = Task(
        params=module.params,
        check_mode=module.check_mode,
        diff_mode=module._diff,
        voice=Lines(lambda line: module.debug(said(line))),
        warn=lambda line: module.warn(said(line)),
        parents=of_module(),
    )
    try:
        result = json.loads(json.dumps(perform_guarded(contract, run, task)))
    except Exception as error:  # noqa: BLE001 - Ansible would show it with its secrets
        text = said(" ".join(str(error).split()))
        result = {
            **so_far(task),
            "failed": True,
            "msg": f"This is a bug in stateful.upgrade: {type(error).__name__}: {text}",
        }
    result, module.params = mask_short(result, secrets), mask_short(module.params, secrets)
    if result.pop("failed", False):
        module.fail_json(**result)
    module.exit_json(**result)
