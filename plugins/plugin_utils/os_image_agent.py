"""The agent of a machine whose operating system is an image: it is asked how far it has come, and gets operations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ansible.errors import AnsibleConnectionFailure, AnsibleError

from ..module_utils.common.waiting import pause
from .on_machine import TaskMachine
from .os_image_answers import has_ended, tries_left
from .os_image_settings import OsImage

SUBMIT, URI = "Submit the host configuration", "ansible.builtin.uri"


@dataclass(frozen=True)
class Agent:
    """The agent: a command on the machine, or a URL that the controller asks."""

    machine: TaskMachine
    role: OsImage

    def asked(self, until: int) -> dict[str, Any]:
        """Its last answer: once it has no operation under way, or when the time is over. A failure is one, too."""
        left = tries_left(until, self.role.interval)
        while True:
            result = self._status()
            if result.get("unreachable") or has_ended(result) or not left:
                return result
            left -= 1
            pause(self.role.interval)

    def submit(self, document: str) -> None:
        """Give it a host configuration.

        The answer may be lost. The next look at the agent says whether it has taken the configuration.
        """
        self.machine.changed(SUBMIT)
        if self.role.text("url"):
            codes = [200, 201, 202, 204]
            self._requested(method="PUT", body=document, body_format="json", status_code=codes)
        else:
            reached(self.machine, [*self.role.words("command"), "submit"], stdin=document)

    def _status(self) -> dict[str, Any]:
        try:
            if self.role.text("url"):
                return self._requested(return_content=True, status_code=[200])
            return reached(self.machine, [*self.role.words("command"), "status"])
        except AnsibleError as error:
            return {"failed": True, "msg": str(error)}

    def _requested(self, **options: Any) -> dict[str, Any]:
        token, ca = self.role.text("token"), self.role.text("ca")
        shared = {
            "url": self.role.text("url"),
            "headers": {"Authorization": f"Bearer {token}"} if token else {},
            **({"ca_path": ca} if ca else {}),
        }
        return self.machine.called(URI, on_controller=True, **shared, **options)


def reached(machine: TaskMachine, argv: list[str], **options: Any) -> dict[str, Any]:
    """The result of a command on the machine, which may be away: it restarts."""
    try:
        return machine.result("command", checks=False, argv=argv, **options)
    except AnsibleConnectionFailure as error:
        return {"unreachable": True, "msg": str(error)}
