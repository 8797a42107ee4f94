"""The variables of a role whose steps are carried out by the action plugin of upgrade_part."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from ansible.module_utils.parsing.convert_bool import boolean

from .run_options import GivenVariables


@dataclass(frozen=True)
class RoleVariables:
    """The variables of a role, each read when it is needed, and named without the name of the role."""

    given: GivenVariables
    role: ClassVar[str]

    def of_role(self, name: str) -> Any:
        """A variable; None if it is not defined."""
        return self.given(f"{self.role}_{name}")

    def text(self, name: str) -> str:
        """One that is text. Text that is JSON is read by the templates of ansible-core up to 2.18."""
        value = self.of_role(name)
        return json.dumps(value) if isinstance(value, (dict, list)) and value else str(value or "")

    def words(self, name: str) -> list[str]:
        """One that is a list."""
        return [str(each) for each in self.of_role(name) or []]

    def number(self, name: str) -> int:
        """One that is a number."""
        return int(self.of_role(name) or 0)

    def flag(self, name: str) -> bool:
        """One that is true or false."""
        return bool(boolean(self.of_role(name) or False, strict=False))

    def fields(self, name: str) -> dict[str, Any]:
        """One that is a dictionary."""
        return dict(self.of_role(name) or {})
