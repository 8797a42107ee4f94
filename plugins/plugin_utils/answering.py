"""The base of the lookups that answer questions about a run from its variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible.plugins.lookup import LookupBase

from .run_options import GivenVariables, given_by


class Answering(LookupBase):
    """A lookup is a subclass that implements `answered`."""

    def run(self, terms: Sequence[Any], variables: Mapping[str, Any] | None = None, **_kwargs: Any) -> list[Any]:
        """The answer, as Ansible asks for it."""
        defined = variables or {}
        return self.answered(terms, given_by(self._templar, defined), defined)

    def answered(self, terms: Sequence[Any], given: GivenVariables, variables: Mapping[str, Any]) -> list[Any]:
        """The answer to these terms. `given` returns a variable with its templates filled in."""
        raise NotImplementedError
