"""A Prometheus with alerts that fire, and a dependency that is not available, as handlers of the world."""

from __future__ import annotations

from typing import Any

from tests.sandbox.web import Answer, Request

FOUND = "EtcdSlow"
FIRING = {"alertname": FOUND, "severity": "critical", "namespace": "openshift-etcd"}


class FiringAlerts:
    """A Prometheus in which some alerts fire, whatever is asked."""

    def __init__(self) -> None:
        self.alerts: list[dict[str, str]] = [FIRING]
        self.asked = 0

    def __call__(self, _request: Request) -> Answer:
        """The answer to a query (Prometheus, "HTTP API", "Instant queries")."""
        self.asked += 1
        found: list[dict[str, Any]] = [{"metric": each, "value": [0, "1"]} for each in self.alerts]
        return Answer(200, {"status": "success", "data": {"resultType": "vector", "result": found}})


class Unavailable:
    """A server that is there, and cannot serve."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, _request: Request) -> Answer:
        """The answer."""
        self.asked += 1
        return Answer(503, "not now")
