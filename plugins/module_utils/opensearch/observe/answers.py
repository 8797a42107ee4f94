"""Unreadable answers of OpenSearch as sentences: the request, the field, and the fault."""

from __future__ import annotations

from contextlib import AbstractContextManager

from ...common.errors import NotTheServer, NotUnderstood
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


def no_json(request: str, where: str, wanted: str = "JSON", *, web_page: bool = False) -> NotUnderstood:
    """The refusal for an answer that is not JSON, or not what was wanted."""
    if web_page:
        return not_the_server(request, f"the server at {where} sends a web page")
    return not_understood(request, f"the server at {where} does not send {wanted}")


def not_the_server(request: str, what: str) -> NotTheServer:
    """The refusal for an answer that no server of this family gives."""
    return NotTheServer.because(
        "opensearch_not_understood",
        f"The answer of OpenSearch to {request} is not understood: {what}.",
        "Check that opensearch.hosts names the REST port of the cluster (usually 9200), and that no proxy answers in"
        " its place (opensearch.proxy, opensearch.no_proxy).",
    )


def reading(request: str, check: str = "") -> AbstractContextManager[None]:
    """A block that reads an answer; its refusals name the request."""
    return understood(lambda what: not_understood(request, what, check))
