"""Whether pods can get the labels that they are to have once they run a new configuration. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ...common.verdict import Reason, as_verdict, refused

OF_CONTROLLERS = frozenset(
    {"controller-revision-hash", "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"}
)
"""Labels that the controller of StatefulSets gives to its pods."""
_NAME = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_KEY = re.compile(rf"([a-z0-9]([-a-z0-9.]{{0,251}}[a-z0-9])?/)?{_NAME}")
_VALUE = re.compile(rf"({_NAME})?")


def labels_in(given: Mapping[str, Any] | None) -> dict[str, str | None]:
    """The labels that a user gives, as Kubernetes has them; None removes one."""
    words = {True: "true", False: "false"}
    return {
        str(key): None if value is None else words[value] if isinstance(value, bool) else str(value)
        for key, value in (given or {}).items()
    }


@as_verdict
def judge_labels(pool: str, selector: str, wanted: Mapping[str, str | None]) -> Iterator[Reason]:
    """Whether the pods of a pool with this selector can have the labels (Kubernetes documentation, Labels)."""
    for key in sorted(wanted.keys() & _needed(selector)):
        yield refused(
            "label_of_controller",
            f"The label {key} of the pods of pool {pool} cannot change: its controller knows its pods by it.",
            "Take it out of the labels.",
        )
    for key, value in sorted(wanted.items()):
        if not _KEY.fullmatch(key) or not _VALUE.fullmatch(value or ""):
            yield refused(
                "label_unusable",
                f"Kubernetes has no label {key} with the value {value!r}, which is to be set on the pods of pool"
                f" {pool}.",
                "Use letters, digits, dashes, underscores and dots, at most 63 of them.",
            )


def _needed(selector: str) -> Collection[str]:
    """The labels by which the controller knows the pods of a pool: its own, and those of the selector."""
    without_values = re.sub(r"\([^)]*\)", "", selector)
    return OF_CONTROLLERS | {re.split(r"[= ]", each.lstrip("!"), maxsplit=1)[0] for each in without_values.split(",")}
