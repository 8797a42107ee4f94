"""The stand-in controllers next to the real API server."""

from __future__ import annotations

import pytest

from tests.lab.lab import Lab
from tests.lab.longhorn.longhorn import LonghornOnLab
from tests.lab.longhorn.test_longhorn import DESCRIBED, upgrade_by_hand
from tests.sandbox.kubernetes.objects import Refused
from tests.sandbox.longhorn.kinds import SETTINGS, SNAPSHOTS, VOLUME_LABEL, VOLUMES


def test_a_node_is_upgraded_by_hand_on_the_real_api_server(lab: Lab) -> None:
    upgrade_by_hand(lab, lab.directory / "logs")


def test_the_api_server_asks_the_webhook(lab: Lab) -> None:
    with LonghornOnLab(lab, lab.directory / "logs", DESCRIBED) as found:
        with pytest.raises(Refused, match="denied the request: replica count value must between 1 to 20"):
            found.ask("PATCH", VOLUMES, "v", {"spec": {"numberOfReplicas": 21}})
        found.make("webhook_refuses", "volumes", "refused on purpose", 1)
        with pytest.raises(Refused, match=r'"validator\.longhorn\.io" denied the request: refused on purpose'):
            found.ask("PATCH", VOLUMES, "v", {"spec": {"engineNodeID": "nowhere"}})
        snapshot = {"apiVersion": SNAPSHOTS.api_version, "kind": SNAPSHOTS.kind, "metadata": {"name": "s"}}
        made = found.ask("POST", SNAPSHOTS, body={**snapshot, "spec": {"volume": "v", "createSnapshot": True}})
        assert made["metadata"]["labels"] == {VOLUME_LABEL: "v"}
        assert made["metadata"]["finalizers"] == ["longhorn.io"]
        with pytest.raises(Refused, match="setting v2-data-engine can be modified but not deleted"):
            found.ask("DELETE", SETTINGS, "v2-data-engine")
