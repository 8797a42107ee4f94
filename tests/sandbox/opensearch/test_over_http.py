"""The cluster in memory behind a socket, asked by the product's own client and by a bulk request."""

from __future__ import annotations

import json
import urllib.request

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal, Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.client import connect
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.cluster import observe, observe_health

from tests.sandbox.listening import Listening
from tests.sandbox.opensearch.rooms import THREE, Room

FAST = 20.0
"""Seconds that pass on the clock in one of the machine's."""


def test_a_cluster_behind_a_socket_is_a_cluster() -> None:
    room = Room()
    with Listening(room.clock, FAST) as listening:
        port = listening.serve(room.cluster.handler())
        client = connect({"hosts": [port.url], "request_timeout": 5})
        assert {member.name for member in observe(client).members.values()} == set(THREE)
        client.put("/logs", {"settings": {"number_of_shards": 2, "number_of_replicas": 1}})
        assert observe_health(client, 20).status == "green"
        lines = [{"index": {"_index": "logs", "_id": "1"}}, {"text": "one"}, {"delete": {"_index": "logs", "_id": "2"}}]
        body = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
        request = urllib.request.Request(f"{port.url}/_bulk", body, {"Content-Type": "application/x-ndjson"})  # noqa: S310 - its own
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - as above
            items = json.load(answer)["items"]
        assert [each["result"] for item in items for each in item.values()] == ["created", "not_found"]
        assert client.get("/logs/_count")["count"] == 1
        with pytest.raises(Refusal) as refused:
            client.put("/_cluster/settings", {"persistent": {"foo.bar": 1}})
        assert "persistent setting [foo.bar], not recognized" in str(refused.value)
        with listening.lock:
            for name in THREE:
                room.cluster.kill(name)
        with pytest.raises(Unreachable):
            observe(client)
