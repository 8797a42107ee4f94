"""Finds the action for a request, and waits for an elected manager where the action needs one."""

from __future__ import annotations

import difflib
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from tests.sandbox.opensearch.errors import ServerError, illegal, no_manager
from tests.sandbox.opensearch.filter_path import filtered
from tests.sandbox.opensearch.model import Member
from tests.sandbox.opensearch.rest import (
    cat,
    documents,
    explain,
    indices,
    looks,
    managed,
    settings,
    snapshots,
    tasks,
    templates,
    voting,
)
from tests.sandbox.opensearch.rest.routes import EVERYWHERE, Call, Route
from tests.sandbox.web import Answer, Pending, Request

if TYPE_CHECKING:
    from tests.sandbox.opensearch.cluster import Cluster

ROUTES: tuple[Route, ...] = (
    *looks.ROUTES,
    *settings.ROUTES,
    *templates.ROUTES,
    *cat.ROUTES,
    *voting.ROUTES,
    *explain.ROUTES,
    *tasks.ROUTES,
    *snapshots.ROUTES,
    *managed.ROUTES,
    *documents.ROUTES,
    *indices.ROUTES,
)
FOR_EVER = 3600.0
"""Each stage of an answer has its own end; this is above all of them."""


class Router:
    """The table of actions of one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def answer(self, member: Member, request: Request) -> Answer | Pending:
        """The answer of one member. Errors are answers too."""
        path = request.path.rstrip("/") or "/"
        matching = [(route, found) for route in ROUTES if (found := route.pattern.fullmatch(path))]
        there = next(((route, found) for route, found in matching if request.method in route.methods), None)
        if there is None:
            return _nobody(request, [route for route, _found in matching])
        route, found = there
        parts = {name: unquote(value) for name, value in found.groupdict().items() if value is not None}
        call = Call(self._cluster, member, request, parts)
        try:
            _judge_parameters(route, request)
            if route.is_in_place(call):
                here = replace(call, in_place=True)
                return _finished(here, route.action(here))
            return Staged(call, route).begin()
        except ServerError as error:
            return error.answer


class Staged:
    """An answer that waits for an elected manager, and then for what its action waits for."""

    def __init__(self, call: Call, route: Route) -> None:
        self._call = call
        self._route = route
        self._end = call.state.clock.now() + call.patience
        self._next: Answer | Pending | None = None

    def begin(self) -> Answer | Pending:
        """The answer, if it can be given now."""
        if self._ready():
            return self._answer()
        return Pending(self._ready, FOR_EVER, self._answer)

    def _ready(self) -> bool:
        now = self._call.state.clock.now()
        if self._next is None:
            if self._finds_manager():
                self._next = self._act()
                if isinstance(self._next, Pending):
                    self._end = now + self._next.seconds
            else:
                return now >= self._end
        return isinstance(self._next, Answer) or self._next.ready() or now >= self._end

    def _finds_manager(self) -> bool:
        """Whether the member can send it to the elected manager: one that lags knows the one of its own state."""
        member, elected = self._call.member, self._call.state.elected
        knows = member.applied is None or member.applied.elected == elected
        return self._call.state.manager is not None and member.in_memory and knows

    def _act(self) -> Answer | Pending:
        try:
            return _finished(self._call, self._route.action(self._call))
        except ServerError as error:
            return error.answer

    def _answer(self) -> Answer:
        if self._next is None:
            return no_manager().answer
        if isinstance(self._next, Pending):
            return self._next.answer()
        return self._next


def _finished(call: Call, answer: Answer | Pending) -> Answer | Pending:
    """With `filter_path` applied, which errors are not subject to."""
    paths = call.text("filter_path")
    if isinstance(answer, Pending):
        inner = answer.answer

        def later() -> Answer:
            try:
                done = _finished(call, inner())
            except ServerError as error:
                done = error.answer
            assert isinstance(done, Answer)
            return done

        return Pending(answer.ready, answer.seconds, later)
    if not paths or (answer.status >= 400 and answer.status != 408) or not isinstance(answer.body, (dict, list)):
        return answer
    return replace(answer, body=filtered(answer.body, paths))


def _nobody(request: Request, routes: list[Route]) -> Answer:
    if routes:
        methods = ", ".join(dict.fromkeys(method for route in routes for method in route.methods))
        said = f"Incorrect HTTP method for uri [{request.path}] and method [{request.method}], allowed: [{methods}]"
        return Answer(405, {"error": said, "status": 405})
    return Answer(400, {"error": f"no handler found for uri [{request.path}] and method [{request.method}]"})


def _judge_parameters(route: Route, request: Request) -> None:
    allowed = route.params | EVERYWHERE
    unknown = sorted(name for name in request.query if name not in allowed)
    if not unknown:
        return
    said = []
    for name in unknown:
        near = difflib.get_close_matches(name, allowed, 1, 0.7)
        said.append(f"[{name}]" + (f" -> did you mean [{near[0]}]?" if near else ""))
    plural = "s" if len(unknown) > 1 else ""
    raise illegal(f"request [{request.path}] contains unrecognized parameter{plural}: {', '.join(said)}")
