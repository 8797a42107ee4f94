"""The first part of each playbook: its variables are checked, and those of its request are taken."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..module_utils.common.words import unique
from ..module_utils.entry.guard import REQUEST_KINDS
from ..module_utils.run.start.request_sources import CONFIG_MAP
from .run_options import GivenVariables
from .variables import SERVING

PLACES = ("https://", "http://", CONFIG_MAP, *REQUEST_KINDS)
"""How the place of a request starts if it is not a file."""
WITHOUT_REQUEST = {*SERVING, "fleet"}
"""The playbooks that carry out no request."""
READ, REFUSED = "request.yml", "refused_inputs.yml"

FaultsOf = Callable[[Mapping[str, Any]], list[str]]
"""Gives a sentence for each fault in the variables, together with those of a request."""


@dataclass(frozen=True)
class InputsOfRun:
    """The variables of a run of a playbook. `given` returns one with its templates filled in; None if undefined."""

    playbook: str
    given: GivenVariables
    faults_of: FaultsOf

    def parts(self) -> list[str]:
        """The task files that are due: one to read the request, one to refuse, or none."""
        if self._read is None and self.playbook not in WITHOUT_REQUEST and self.given("upgrade_request"):
            return [READ]
        return [REFUSED] if self._faults() else []

    def request(self) -> dict[str, Any]:
        """The request for the tasks of the run; only a run that acts notes its state."""
        place = {"source": request_source(self.given), "namespace": self.given("upgrade_namespace") or ""}
        return {**self._requested, **place, "noted": self.playbook != "plan"}

    def refusal(self) -> dict[str, Any]:
        """The end of a run that is refused.

        It has the `statistics` for Ansible, the `message`, and whether the request is to be `noted` as invalid, or its
        record removed because it was `withdrawn`.
        """
        faults, acts = self._faults(), self.playbook != "plan"
        reasons = ((self._read or {}).get("verdict") or {}).get("reasons", ())
        codes = unique(str(each["code"]) for each in reasons if each["state"] == "refused")
        removed = self.given("inputs_removed") or {}
        names = ", ".join((removed.get("before") or {}).get("records", ()))
        end = f"The record of the withdrawn request was removed: {names}." if removed.get("changed") else ""
        return {
            "statistics": {
                "upgrade_state": "refused",
                "upgrade_waiting_for": [],
                "upgrade_reasons": codes or ["request_invalid" if self._requested else "inputs_wrong"],
                "upgrade_cause": " ".join(faults),
            },
            # A record that could not be removed is reported, too.
            "message": "\n".join([*faults, *filter(None, [removed.get("msg")]), end or "Nothing was done."]),
            "noted": acts and bool(self._requested),
            "withdrawn": acts and bool(self.given("upgrade_record_retention")) and "request_missing" in codes,
        }

    @property
    def _read(self) -> Mapping[str, Any] | None:
        """The result of reading the request; None if it was not read yet."""
        found: Mapping[str, Any] | None = self.given("inputs_read")
        return found

    @property
    def _requested(self) -> Mapping[str, Any]:
        return (self._read or {}).get("request") or {}

    def _faults(self) -> list[str]:
        read = self._read or {}
        return [str(read["msg"])] if read.get("msg") else self.faults_of(self._requested)


def options_of_inputs(module: str, given: GivenVariables) -> dict[str, Any]:
    """The options of a task with which a playbook checks its variables and its request (`inputs_of`)."""
    if given("inputs_of") is None or module not in ("upgrade_record", "upgrade_request"):
        return {}
    place = request_source(given)
    record = {"request": place, "retention": given("upgrade_record_retention")}
    return record if module == "upgrade_record" else {"source": place, "claims": given("inputs_of") != "plan"}


def request_source(given: GivenVariables) -> str:
    """The place of the request. A relative path starts in the folder where the playbook was started."""
    place = os.path.expanduser(str(given("upgrade_request") or ""))
    # One below a home that is not known keeps its tilde, for which it is refused.
    return place if place.startswith((*PLACES, "~")) else os.path.realpath(place)
