"""The arguments of a task as a module would see them, checked as AnsibleModule checks them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.common.warnings import get_warning_messages
from ansible.module_utils.errors import UnsupportedError

from ..module_utils.common.credentials import secrets_of_addresses
from ..module_utils.common.task import Contract
from ..module_utils.common.words import printable


@dataclass(frozen=True)
class CheckedArguments:
    """The result of AnsibleModule's checks. `error` is empty if the arguments are good."""

    params: dict[str, Any]
    secrets: frozenset[str]
    warnings: tuple[str, ...]
    deprecations: tuple[dict[str, Any], ...]
    error: str


def plain(value: Any) -> Any:
    """The value as a module would receive it: only JSON's own types, no tags, decrypted, dates as text.

    Raises:
        TypeError: the value cannot be written in JSON.
    """
    return json.loads(json.dumps(value, default=_as_text))


def check_arguments(contract: Contract, module_name: str, arguments: Mapping[str, Any]) -> CheckedArguments:
    """Check the arguments of a task. The environment variables of the task must be in force already.

    The order and the texts are those of AnsibleModule (`ansible.module_utils.basic`), which cannot be used here: it
    reads standard input and ends the process.
    """
    validator = ArgumentSpecValidator(
        contract.argument_spec,
        mutually_exclusive=contract.mutually_exclusive,
        required_together=contract.required_together,
        required_one_of=contract.required_one_of,
        required_if=contract.required_if,
    )
    said_before = len(get_warning_messages())
    seen = validator.validate(plain(arguments))
    # Up to ansible-core 2.18 the validator leaves its own warnings in a list of the process; later they go to Display.
    warnings = [*get_warning_messages()[said_before:]]
    warnings += [f"Both option {both['option']} and its alias {both['alias']} are set." for both in seen._warnings]
    secrets = secrets_of_addresses(seen.validated_parameters).union(map(str, seen._no_log_values))
    return CheckedArguments(
        params=seen.validated_parameters,
        secrets=secrets.union(map(printable, secrets)),
        warnings=tuple(warnings),
        deprecations=tuple(
            {name: each for name, each in said.items() if each is not None} for said in seen._deprecations
        ),
        error=_error_of(seen.errors, module_name),
    )


def _error_of(errors: Any, module_name: str) -> str:
    if not errors.errors:
        return ""
    if isinstance(errors[0], UnsupportedError):
        return f"Unsupported parameters for ({module_name}) module: {errors.msg}"
    return str(errors.msg)


def _as_text(value: Any) -> Any:
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "_ciphertext"):  # a value from a vault, in any version of ansible-core: text decrypts it
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return list(value)
    if is_dataclass(value) and not isinstance(value, type):
        # From ansible-core 2.19 on, a warning in the result of an earlier task.
        return asdict(value)
    raise TypeError(f"a value of type {type(value).__name__} cannot be given to or by a module")
