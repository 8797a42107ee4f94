"""The time at which a batch goes down, noted before its end."""

from __future__ import annotations

from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.going_down import gone_down
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.records import batch_of, record_of

AT, LATER = "2026-11-21T03:00:00Z", "2026-11-21T04:00:00Z"


def test_the_batch_under_way_with_these_members_is_noted_once() -> None:
    record = record_of(batch_of("a", "b", state="upgrading"), batch_of("c"))
    found = gone_down(record, ["b"], AT)
    assert ([each.went for each in found.batches], found.updated) == ([AT, ""], AT)
    assert gone_down(found, ["b"], LATER) == found
    assert gone_down(record, ["c"], AT) == record
    assert gone_down(record, [], AT) == record
