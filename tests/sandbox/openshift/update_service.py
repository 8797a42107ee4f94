"""The update service: an update graph as an answer of the Cincinnati protocol, and the reading of that answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.openshift.description import Graph, Release, Risk
from tests.sandbox.web import Answer, CutOff, Request

URL = "https://updates.openshift.test/graph"
"""Its address, as `spec.upstream` names it."""
MEDIA_TYPE = "application/json"
CHANNELS = "io.openshift.upgrades.graph.release.channels"


class UpdateService:
    """A `Handler`. It knows only the graph that it is given."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.away = False
        """Whether no connection is possible."""
        self.status = 200
        """The status of the answers; any other one answers every request."""
        self.asked: list[Request] = []

    def __call__(self, request: Request) -> Answer:
        """The answer. Raises CutOff."""
        self.asked.append(request)
        if self.away:
            raise CutOff(made=False)
        if self.status != 200:
            return Answer(self.status, {"kind": "failed", "value": "the update service is not available"})
        return graph_answer(self.graph, request)


def graph_answer(graph: Graph, request: Request) -> Answer:
    """The part of the graph that a channel has; edges are pairs of places in the list of nodes."""
    accepted = {key.lower(): value for key, value in request.headers.items()}.get("accept", "*/*")
    if not any(each in accepted for each in (MEDIA_TYPE, "*/*", "application/*")):
        return Answer(406, {"kind": "invalid_content_type", "value": "invalid Content-Type requested"})
    channel = request.query.get("channel", "")
    if not channel:
        return Answer(400, {"kind": "missing_params", "value": "mandatory client parameters missing: channel"})
    releases = [each for each in graph.releases if channel in each.channels]
    places = {each.version: place for place, each in enumerate(releases)}
    edges = [[places[one], places[other]] for one, other in graph.edges if {one, other} <= places.keys()]
    conditional = [
        {"edges": [{"from": each.origin, "to": each.target}], "risks": [_risk(one) for one in each.risks]}
        for each in graph.conditional
        if {each.origin, each.target} <= places.keys()
    ]
    body = {"nodes": [_node(each) for each in releases], "edges": edges, "conditionalEdges": conditional}
    return Answer(200, body, {"Content-Type": MEDIA_TYPE})


def _node(release: Release) -> Json:
    metadata = {CHANNELS: ",".join(release.channels), "url": f"https://errata.test/{release.version}"}
    return {"version": release.version, "payload": release.image, "metadata": metadata}


def _risk(risk: Risk) -> Json:
    rule = (
        {"type": "Always"} if risk.applies else {"type": "PromQL", "promql": {"promql": f'risk{{name="{risk.name}"}}'}}
    )
    return {"name": risk.name, "message": risk.message, "url": risk.url, "matchingRules": [rule]}


@dataclass(frozen=True)
class Found:
    """The updates from a version: `GetUpdates` in `pkg/cincinnati/cincinnati.go`. With a reason there are none."""

    updates: Sequence[Json] = ()
    conditional: Sequence[Json] = ()
    """Each with its `release` and its `risks`."""
    reason: str = ""
    message: str = ""
    releases: Sequence[Json] = field(default=())
    """Everything in the channel."""

    @property
    def failed(self) -> bool:
        """Whether there was no usable answer: only then updates that were found before may be kept."""
        return self.reason in {"RemoteFailed", "ResponseFailed", "ResponseInvalid"}


def found_in(answer: Answer, version: str, channel: str) -> Found:
    """The updates from a version, by an answer of the service."""
    if answer.status != 200:
        return Found(reason="ResponseFailed", message=f"unexpected HTTP status: {answer.status}")
    nodes: list[Json] = answer.body["nodes"]
    place = next((place for place, each in enumerate(nodes) if each["version"] == version), None)
    if place is None:
        said = f'currently reconciling cluster version {version} not found in the "{channel}" channel'
        return Found(reason="VersionNotFound", message=said)
    releases = [_release(each) for each in nodes]
    by_version = {each["version"]: each for each in releases}
    conditional = [
        {"release": by_version[edge["to"]], "risks": group["risks"]}
        for group in answer.body["conditionalEdges"]
        for edge in group["edges"]
        if edge["from"] == version
    ]
    risky = {each["release"]["image"] for each in conditional}
    updates = [releases[other] for one, other in answer.body["edges"] if one == place]
    return Found([each for each in updates if each["image"] not in risky], conditional, releases=releases)


def _release(node: Json) -> Json:
    channels = sorted(node["metadata"][CHANNELS].split(","))
    return {"version": node["version"], "image": node["payload"], "url": node["metadata"]["url"], "channels": channels}


def sorted_by_version(releases: Sequence[Json]) -> list[Json]:
    """Releases, the newest first."""
    return sorted(releases, key=lambda each: numbers_of(each["version"]), reverse=True)


def numbers_of(version: str) -> tuple[int, ...]:
    """The numbers of a version; what comes after a hyphen does not count here."""
    return tuple(int(each) for each in version.partition("-")[0].split("."))
