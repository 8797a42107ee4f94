"""`_cluster/voting_config_exclusions`: taking the vote from members and giving it back."""

from __future__ import annotations

from tests.sandbox.opensearch.errors import ServerError, illegal
from tests.sandbox.opensearch.rest.routes import Call, Route
from tests.sandbox.opensearch.values import names_of
from tests.sandbox.opensearch.voting import Exclusion
from tests.sandbox.web import Answer, Pending

WAYS = ("node_names", "node_ids", "node_name")


def _said(exclusions: list[Exclusion]) -> str:
    return ", ".join(f"{{{each.name}}}{{{each.id}}}" for each in exclusions)


def _exclude(call: Call) -> Answer | Pending:
    """They are excluded at once; the answer comes when none of them votes any more."""
    given = {name: names_of(call.text(name)) for name in WAYS if call.text(name)}
    if "names" in call.parts:
        given["node_name"] = names_of(call.parts["names"])
    if len(given) != 1:
        raise illegal(
            "Please set node identifiers correctly. One and only one of [node_name], [node_names] and [node_ids] has to"
            " be set"
        )
    coordination = call.cluster.coordination
    names = [*given.get("node_names", []), *given.get("node_name", [])]
    wanted = coordination.resolve(names, given.get("node_ids", []))
    coordination.exclude(wanted)

    def in_effect() -> bool:
        return coordination.is_in_effect(wanted)

    def answer() -> Answer:
        if in_effect():
            return Answer(200)
        reason = f"timed out waiting for voting config exclusions [{_said(wanted)}] to take effect"
        raise ServerError(500, "timeout_exception", reason)

    return answer() if in_effect() else Pending(in_effect, call.seconds("timeout", 30.0), answer)


def _include(call: Call) -> Answer | Pending:
    """Without anything else said it waits until all that are excluded have left the cluster."""
    state = call.state
    waited_for = list(state.exclusions) if call.flag("wait_for_removal", default=True) else []

    def gone() -> bool:
        return not any(each.id in state.nodes for each in waited_for)

    def answer() -> Answer:
        if not gone():
            reason = "timed out waiting for removal of nodes; if nodes should not be removed, set waitForRemoval to"
            raise ServerError(500, "timeout_exception", f"{reason} false. [{_said(waited_for)}]")
        call.cluster.coordination.include()
        return Answer(200)

    return answer() if gone() else Pending(gone, 30.0, answer)


_PATH = "/_cluster/voting_config_exclusions"
ROUTES = (
    Route(("POST",), _PATH, _exclude, frozenset({*WAYS, "timeout"})),
    Route(("POST",), f"{_PATH}/{{names}}", _exclude, frozenset({*WAYS, "timeout"})),
    Route(("DELETE",), _PATH, _include, frozenset({"wait_for_removal"})),
)
