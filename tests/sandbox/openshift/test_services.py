"""The update service and the registry: requests in, answers out."""

from __future__ import annotations

import hashlib
import json
import urllib.request
from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.sandbox.clock import Clock
from tests.sandbox.listening import Listening
from tests.sandbox.openshift.asking import GRAPH, NEXT, STABLE, built
from tests.sandbox.openshift.description import ConditionalEdge, Risk
from tests.sandbox.openshift.registry import (
    LABEL,
    MANIFEST,
    STORE,
    Registry,
    image_for_several,
    image_of,
    manifest_of,
)
from tests.sandbox.openshift.update_service import UpdateService, found_in
from tests.sandbox.web import Answer, CutOff, Request


def graph(service: UpdateService, query: Mapping[str, str], accept: str = "application/json") -> Answer:
    return service(Request("GET", "/graph", query, None, {"Accept": accept}))


def test_a_channel_has_a_part_of_the_graph_whose_edges_are_places() -> None:
    body = graph(UpdateService(GRAPH), {"channel": NEXT, "arch": "amd64", "version": "4.18.2"}).body
    assert [each["version"] for each in body["nodes"]] == ["4.18.2", "4.18.3", "4.19.0"]
    assert body["edges"] == [[0, 1], [0, 2], [1, 2]]
    assert body["nodes"][0]["payload"] == image_of("4.18.2")
    assert body["conditionalEdges"] == []


def test_a_conditional_edge_names_versions_and_risks() -> None:
    edge = ConditionalEdge("4.18.2", "4.19.0", (Risk("PodsHang"),))
    body = graph(UpdateService(replace(GRAPH, conditional=(edge,))), {"channel": NEXT}).body
    (group,) = body["conditionalEdges"]
    assert group["edges"] == [{"from": "4.18.2", "to": "4.19.0"}]
    assert (group["risks"][0]["name"], group["risks"][0]["matchingRules"]) == ("PodsHang", [{"type": "Always"}])


def test_an_edge_that_is_also_conditional_is_no_plain_one() -> None:
    edge = ConditionalEdge("4.18.2", "4.19.0", (Risk("PodsHang"),))
    answer = graph(UpdateService(replace(GRAPH, conditional=(edge,))), {"channel": NEXT})
    found = found_in(answer, "4.18.2", NEXT)
    assert [each["version"] for each in found.updates] == ["4.18.3"]
    assert [each["release"]["version"] for each in found.conditional] == ["4.19.0"]


def test_questions_without_a_channel_or_for_another_type_are_refused() -> None:
    service = UpdateService(GRAPH)
    assert graph(service, {}).status == 400
    assert graph(service, {"channel": STABLE}, "text/html").status == 406
    assert graph(service, {"channel": "none"}).body["nodes"] == []


def test_the_version_operator_asks_as_the_protocol_says() -> None:
    found = built()
    (asked,) = found.updates.asked[:1]
    assert {*asked.query} == {"arch", "channel", "id", "version"}
    assert asked.query["id"] == found.version()["spec"]["clusterID"]


def test_both_are_served_over_a_socket() -> None:
    with Listening(Clock()) as listening:
        port = listening.serve(UpdateService(GRAPH))
        with urllib.request.urlopen(f"{port.url}/graph?channel={NEXT}", timeout=10) as given:  # noqa: S310 - written above
            assert len(json.load(given)["nodes"]) == 3
        port = listening.serve(REGISTRY)
        url = f"{port.url}/v2/ocp/release/manifests/4.18.2-x86_64"
        with urllib.request.urlopen(url, timeout=10) as given:  # noqa: S310 - written above
            digest = hashlib.sha256(given.read()).hexdigest()
            assert given.headers["Docker-Content-Digest"] == f"sha256:{digest}"
            assert given.headers["Content-Type"].startswith(MANIFEST)


def at_once(*versions: str) -> Registry:
    """A registry that asks for no token, and has the blobs itself."""
    registry = Registry(lambda: versions)
    registry.asks_token = registry.has_store = False
    return registry


REGISTRY = at_once("4.18.1", "4.18.2")


def pulled(registry: Registry, path: str) -> Answer:
    return registry(Request("GET", f"/v2/ocp/release/{path}", {}, None, {"Accept": MANIFEST}))


@pytest.mark.parametrize("reference", ["4.18.2-x86_64", image_of("4.18.2").partition("@")[2]])
def test_a_manifest_leads_to_the_version_of_a_release(reference: str) -> None:
    manifest = pulled(REGISTRY, f"manifests/{reference}")
    digest = manifest.headers["Docker-Content-Digest"]
    assert image_of("4.18.2").endswith(f"@{digest}")
    assert digest == f"sha256:{hashlib.sha256(manifest.text.encode()).hexdigest()}"
    config = json.loads(manifest.text)["config"]
    blob = pulled(REGISTRY, f"blobs/{config['digest']}")
    assert len(blob.text.encode()) == config["size"]
    assert json.loads(blob.text)["config"]["Labels"][LABEL] == "4.18.2"


def test_an_unknown_image_is_not_found() -> None:
    answer = pulled(REGISTRY, "manifests/4.18.9-x86_64")
    assert (answer.status, answer.body["errors"][0]["code"]) == (404, "MANIFEST_UNKNOWN")
    assert pulled(REGISTRY, "blobs/sha256:0").body["errors"][0]["code"] == "BLOB_UNKNOWN"
    other = REGISTRY(Request("GET", "/v2/other/manifests/1"))
    assert other.body["errors"][0]["code"] == "NAME_UNKNOWN"


def test_a_label_may_lie_and_a_registry_may_be_away() -> None:
    registry = at_once("4.18.2")
    registry.other_labels["4.18.2"] = "4.18.1"
    config = json.loads(pulled(registry, "manifests/4.18.2-x86_64").text)["config"]
    blob = pulled(registry, f"blobs/{config['digest']}")
    assert json.loads(blob.text)["config"]["Labels"][LABEL] == "4.18.1"
    registry.status = 503
    assert pulled(registry, "manifests/4.18.2-x86_64").status == 503
    registry.away = True
    with pytest.raises(CutOff):
        pulled(registry, "manifests/4.18.2-x86_64")


def test_a_registry_asks_for_a_token_and_its_store_for_none() -> None:
    registry = Registry(lambda: ["4.18.2"])
    config = json.loads(manifest_of("4.18.2"))["config"]["digest"]
    refused = pulled(registry, f"blobs/{config}")
    assert (refused.status, refused.headers["WWW-Authenticate"].partition(" ")[0]) == (401, "Bearer")
    token = registry(Request("GET", "/token")).body["token"]
    sent = {"Authorization": f"Bearer {token}"}
    moved = registry(Request("GET", f"/v2/ocp/release/blobs/{config}", {}, None, sent))
    assert (moved.status, moved.headers["Location"]) == (307, f"https://{STORE}/store/{config}")
    assert registry(Request("GET", f"/store/{config}", {}, None, sent)).status == 400
    assert json.loads(registry(Request("GET", f"/store/{config}")).text)["architecture"] == "amd64"
    registry.user = ("puller", "secret")
    assert registry(Request("GET", "/token")).status == 401


def test_a_list_of_manifests_names_the_one_of_each_architecture() -> None:
    digest = image_for_several("4.18.2").partition("@")[2]
    listed = json.loads(pulled(REGISTRY, f"manifests/{digest}").text)["manifests"]
    there = {(each["platform"]["os"], each["platform"]["architecture"]): each["digest"] for each in listed}
    assert image_of("4.18.2").endswith(f"@{there['linux', 'amd64']}")
