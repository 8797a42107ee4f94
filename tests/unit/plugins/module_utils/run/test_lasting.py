"""The time since which something lasts, as the record has it."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.lasting import Lasting, known_since, noted
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.records import batch_of, record_of

AT, LATER = "2026-11-21T03:00:00Z", "2026-11-21T04:00:00Z"


def test_the_first_time_of_a_state_counts_and_another_state_has_its_own() -> None:
    first, again = Lasting("worker-0", "drain-1", AT), Lasting("worker-0", "drain-1", LATER)
    record = noted(record_of(batch_of("worker-0")), [first], LATER)
    assert known_since(record, [again]) == {"worker-0": AT}
    assert noted(record, [again], LATER) == record
    other = Lasting("worker-0", "drain-2", LATER)
    assert known_since(record, [other]) == {}
    assert known_since(noted(record, [other], LATER), [other]) == {"worker-0": LATER}


def test_a_state_that_is_older_than_the_batch_counts_from_the_first_look() -> None:
    # A person had cordoned the Kubernetes node a day before, and the drain would count as a day old.
    cordoned = Lasting("worker-0", "drain-1", "2026-11-20T03:00:00Z")
    elsewhere = Lasting("worker-9", "drain-1", "2026-11-20T03:00:00Z")
    record = noted(record_of(replace(batch_of("worker-0"), started=AT)), [cordoned, elsewhere], LATER)
    assert known_since(record, [cordoned, elsewhere]) == {"worker-0": LATER, "worker-9": elsewhere.since}
