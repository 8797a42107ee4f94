"""A silence that ends now has ended, whatever the fraction of the second."""

from __future__ import annotations

from tests.sandbox.clock import Clock
from tests.sandbox.monitoring.alertmanager import API, Alertmanager
from tests.sandbox.web import Request

MATCHER = {"name": "namespace", "value": "web", "isRegex": False, "isEqual": True}


def test_a_silence_that_is_deleted_is_active_no_more_at_the_same_instant() -> None:
    clock = Clock(start=1_796_114_397.8199997)
    server = Alertmanager(clock)
    given = {"matchers": [MATCHER], "startsAt": "2026-12-01T08:00:00Z", "endsAt": "2026-12-01T23:00:00Z"}
    made = server(Request("POST", f"{API}/silences", body=given)).body["silenceID"]
    assert server.active() == {"namespace=web"}
    assert server(Request("DELETE", f"{API}/silence/{made}")).status == 200
    assert server.active() == set()
