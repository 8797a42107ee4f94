"""The update service, which has the update graph of each channel, asked as the cluster version operator asks it."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode, urlsplit

from ...common.errors import NotUnderstood, Unreachable, refusal
from ...common.reading import understood
from ...common.web import PASSING, NoAnswer, Trust, fetch
from .state import MULTI, OpenShift
from .update_graph import UpdateGraph, graph_in

SECONDS = 20.0
"""The time for an answer."""
LONGEST = 50_000_000
"""Bytes of a graph that are read: one of a thousand releases has about 5 MB."""


class UpdateService:
    """It is asked once for each channel and version."""

    def __init__(self, given: Mapping[str, Any] | None) -> None:
        """Nothing is asked yet. `given` is the option `update_service`."""
        given = given or {}
        self._url = str(given.get("url") or "")
        self._trust = Trust(given.get("ca_cert"), given.get("validate_certs", True) is not False)
        self._known: dict[tuple[str, str], UpdateGraph] = {}

    def graph(self, seen: OpenShift, channel: str) -> UpdateGraph:
        """The graph of a channel, for this cluster in its present version.

        Raises:
            Unreachable: there is no answer, or one that cannot be used now.
            Refusal: no service is known, or it refuses the request.
        """
        key = channel, seen.version.present
        if key not in self._known:
            self._known[key] = self._asked(seen, channel)
        return self._known[key]

    def _asked(self, seen: OpenShift, channel: str) -> UpdateGraph:
        url, version = self._url or seen.version.upstream, seen.version
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
            raise refusal(
                "update_service_unknown",
                f"The update graph cannot be asked: {'its address is not a URL' if url else 'no address is known'}.",
                "Give the URL of the graph (update_service.url), unless the ClusterVersion has it (spec.upstream).",
            )
        architecture = "multi" if version.architecture == MULTI else seen.architecture
        query = {"arch": architecture, "channel": channel, "id": version.cluster_id, "version": version.present}
        whole = f"{url}{'&' if parts.query else '?'}{urlencode(query)}"
        try:
            answer = fetch(whole, SECONDS, LONGEST, {"Accept": "application/json"}, self._trust)
        except NoAnswer as error:
            raise _away(parts.netloc, str(error)) from error
        if answer.status in PASSING:
            raise _away(parts.netloc, f"it answers {answer.status}")
        if answer.status != HTTPStatus.OK:
            cause = " ".join(answer.content.split())[:200]
            raise refusal(
                "update_service_refuses",
                f"The update service {parts.netloc} answers {answer.status} for channel {channel}: {cause}",
                "Correct the channel (upgrade_channel), or the URL of the graph (update_service.url).",
            )
        with understood(lambda fault: _not_understood(parts.netloc, fault)):
            return graph_in(channel, answer.content)


def _away(host: str, cause: str) -> Unreachable:
    return Unreachable.because(
        "update_service_unreachable",
        f"The update service {host} gives no answer: {cause}.",
        "See whether it can be reached from here, through a proxy if need be (HTTPS_PROXY).",
    )


def _not_understood(host: str, fault: str) -> NotUnderstood:
    said = f"The answer of the update service {host} is not an update graph: {fault}."
    return NotUnderstood.because("update_service_not_understood", said, "See that its URL is right.")
