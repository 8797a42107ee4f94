"""The looks at the new addresses of members, where a run changes the scheme of the REST port."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..common.errors import Refusal, Unreachable
from ..common.reading import Json, part, text
from ..common.task import Task
from ..common.verdict import Verdict
from .judge.answering import NewAddressAnswers, judge_answers, judge_old_address
from .observe.addresses import after_of, before_of
from .observe.answers import reading
from .observe.client import connect
from .observe.hosts import LOCAL

_PASSING = frozenset({"opensearch_tls"})
"""Refusals that time fixes here: a member that has not restarted yet has no TLS."""


def wait_for_answers(task: Task, batch: Collection[str]) -> Verdict:
    """Wait until each member of a batch has answered at its new address; nothing is asked if addresses stay the same.

    Raises:
        Refusal: a certificate or the credentials are not accepted there.
    """
    after = after_of(task.params["opensearch"])
    if after is None or task.check_mode or not batch:
        return Verdict()
    looks = _NewAddress(after, task.params["kubernetes"])
    return task.wait(lambda: looks.look(batch), lambda seen: judge_answers(seen, batch))[1]


def gate_connection(options: Mapping[str, Any], *, last: bool) -> Mapping[str, Any]:
    """The connection by which a gate asks: the `last` one by the new addresses alone, since every member is there."""
    return (after_of(options) if last else None) or options


def old_address(task: Task) -> Verdict:
    """Whether a member still answers at the old addresses. A question that is refused fails no run."""
    options, after = task.params["opensearch"], after_of(task.params["opensearch"])
    if after is None or _where(options) == _where(after):
        return Verdict()
    try:
        return judge_old_address(_where(options), _name(before_of(options), task.params["kubernetes"]))
    except Refusal:
        return Verdict()


class _NewAddress:
    """Questions to each new address, or through the Kubernetes API to each pod, by connections of their own."""

    def __init__(self, options: Mapping[str, Any], kubernetes: Mapping[str, Any]) -> None:
        self._options, self._kubernetes = options, kubernetes
        self._seen = NewAddressAnswers(_where(options))

    def look(self, batch: Collection[str]) -> NewAddressAnswers:
        """One question to each address, and all answers so far.

        Raises:
            Refusal: the address will not answer, however long the task waits.
        """
        seen = replace(self._seen, silence="")
        for options in self._ways(batch):
            try:
                name = _name(options, self._kubernetes)
            except Refusal as error:
                reason = error.verdict.reasons[0]
                if not isinstance(error, Unreachable) and reason.code not in _PASSING:
                    raise
                seen = replace(seen, silence=reason.message)
            else:
                seen = replace(seen, names=seen.names | {name}, count=seen.count + 1)
        self._seen = seen
        return seen

    def _ways(self, batch: Collection[str]) -> Iterator[Mapping[str, Any]]:
        """The options of each connection. A connection through the Kubernetes API could lead to any pod."""
        forward = self._options.get("port_forward")
        if forward:
            for name in sorted({*batch} - self._seen.names):
                yield {**self._options, "port_forward": {**forward, "pod": name}}
            return
        for host in self._options["hosts"]:
            yield {**self._options, "hosts": [host]}


def _name(options: Mapping[str, Any], kubernetes: Mapping[str, Any]) -> str:
    """The name of the member that answers."""
    answer = connect(options, kubernetes).get(LOCAL, filter_path="nodes.*.name")
    with reading(f"GET {LOCAL}"):
        nodes: Json = part(answer, "nodes")
        return next(text(part(nodes, key), "name") for key in nodes)


def _where(options: Mapping[str, Any]) -> str:
    return ", ".join(options.get("hosts") or ())
