"""The driver that a run in this process needs: the cheaper one, unless only the executor of ansible-core can do it."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from typing import Any

from tests.runs import direct, executor
from tests.runs.scripts import OWN
from tests.scenarios.playbook import Played

REPORT = f"{OWN}report"
"""A playbook that fills in templates of its own."""
ASKED_BY_HTTP = "member_os_image_url"
"""The variable with which the agent of a machine is asked by HTTP."""
TASKS = re.compile(r'"(?:upgrade_)?tasks(?:_\w+)?": ')
"""A variable with the path of a file with tasks."""
ROLES = {f"{OWN}member_{name}" for name in ("package", "kubeadm", "os_image", "delegated")}
"""The roles for members whose modules a host in memory carries out, and whose keywords `tests.runs.direct` knows."""


def play(playbook: str, variables: Mapping[str, Any], *more: str, output: io.StringIO | None = None) -> Played:
    """Run a playbook to its end, as `tests.runs.executor.play`. Without the executor nothing is written to `output`."""
    if needs_executor(playbook, variables, more):
        return executor.play(playbook, variables, *more, output=output)
    return direct.play(playbook, variables, *more)


def needs_executor(playbook: str, variables: Mapping[str, Any], more: tuple[str, ...]) -> bool:
    """Whether a run has arguments, or tasks beyond those that `tests.runs.direct` knows."""
    if not playbook.startswith(OWN) or playbook == REPORT or ASKED_BY_HTTP in variables or not _known(more):
        return True
    if variables.get("upgrade_member_role") not in {None, *ROLES}:
        return True
    return TASKS.search(json.dumps(dict(variables))) is not None


def _known(more: tuple[str, ...]) -> bool:
    """Whether these arguments are those of a run on hosts, or of its plan."""
    arguments = [*more]
    if direct.CHECK in arguments:
        arguments.remove(direct.CHECK)
    return not arguments or (
        len(arguments) == 2 and arguments[0] == direct.INVENTORY and arguments[1].endswith(".json")
    )
