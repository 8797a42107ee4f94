"""The files that may be in the archive, and the judgement of Galaxy's importer."""

from __future__ import annotations

from tests.checks.build import NEEDED, complaints, problems


def test_the_workshop_stays_at_home_and_what_is_needed_does_not() -> None:
    assert problems([*NEEDED, "plugins/modules/upgrade_plan.py"]) == []
    assert [line.partition(",")[0] for line in problems([*NEEDED, "tests/a.py"])] == ["The archive holds tests"]
    assert len(problems([])) == len(NEEDED)


def test_warnings_of_the_importer_count_as_refusals() -> None:
    said = "Loading role begin\nWARNING: no role metadata found\nERROR: No role readme found.\nan ERROR: inside\n"
    assert complaints(said) == ["WARNING: no role metadata found", "ERROR: No role readme found."]


def test_a_playbook_that_the_importer_does_not_find_counts_only_if_the_archive_has_none() -> None:
    said = [f"WARNING: ERROR    Failed to find stateful.upgrade.{name} playbook." for name in ("plan", "plam")]
    assert complaints("\n".join(said), ["plan", "settle"]) == [said[1]]
