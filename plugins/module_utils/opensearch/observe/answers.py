"""Unreadable answers of OpenSearch as sentences: the request, the field, and the fault."""

from __future__ import annotations

from contextlib import AbstractContextManager

from ...common.errors import NotUnderstood
from ...common.reading import understood

EXPLAIN = "POST /_cluster/allocation/explain"


def not_understood(request: str, what: str, check: str = "") -> NotUnderstood:
    """The refusal for an answer that is not understood. `check` names the only gate check that needs it, if any."""
    without = f" To continue without it, set skip_checks: [{check}]." if check else ""
    return NotUnderstood.because(
        "opensearch_not_understood",
        f"The answer of OpenSearch to {request} is not understood: {what}.",
        "If this does not pass, check that opensearch.hosts names the REST port of the cluster (usually 9200), and"
        f" report it with the OpenSearch version: nothing can be proven from a part of an answer.{without}",
    )


def reading(request: str, check: str = "") -> AbstractContextManager[None]:
    """A block that reads an answer; its refusals name the request."""
    return understood(lambda what: not_understood(request, what, check))
