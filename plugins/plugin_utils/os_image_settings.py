"""What the variables of the role member_os_image say of the upgrade of one machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from .role_variables import RoleVariables

BEFORE, AFTER = "before_drain", "after_drain"


@dataclass(frozen=True)
class OsImage(RoleVariables):
    """The variables of the role, each read when it is needed."""

    role: ClassVar[str] = "member_os_image"

    @property
    def machine(self) -> dict[str, Any]:
        """The fact of the machine, which the look at it has made."""
        return dict(self.given("member_machine") or {})

    @cached_property
    def version(self) -> str:
        """The version to which the batch leads, which may be one on the way."""
        return str(self.given("upgrade_version") or self.given("target_version") or "")

    @cached_property
    def node(self) -> str:
        """The Kubernetes node of the machine."""
        return self.text("node")

    @property
    def management(self) -> Any:
        """The connection to the cluster with the Machines; None without one."""
        return self.given("upgrade_management") or None

    @property
    def interval(self) -> int:
        """The seconds between two looks at the agent."""
        return self.number("interval")

    def image(self, read: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The wanted image: that of the specification of the machine, as it was read, or else that of the variable."""
        found = self.fields("read") if read is None else read
        return dict(found.get("specified") or {}) or self.fields("image")

    def plan(self, step: str) -> str:
        """The file with the plan of a step. Each has one of its own, which stays when the step is done."""
        return f"{self.text('folder')}/os-image-{step}.json"
