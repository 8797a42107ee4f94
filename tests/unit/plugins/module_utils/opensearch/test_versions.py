"""Versions, the ids of index settings, and the paths between versions."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.upgrade_path import (
    judge_created,
    judge_path,
    oldest_wire,
    opens_read_only,
    releases_between,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.version import Version, created_in
from hypothesis import given
from hypothesis import strategies as st

VERSIONS = st.builds(Version, st.integers(1, 5), st.integers(0, 99), st.integers(0, 99))


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("2.19.6", Version(2, 19, 6)),
        ("3.0.0-beta1", Version(3, 0, 0)),
        ("3.9.0-SNAPSHOT", Version(3, 9, 0)),
        (" 3.8.0\n", Version(3, 8, 0)),
        ("10.0.0", Version(10, 0, 0)),
        ("7.10.2", Version(1, 10, 2, elasticsearch=7)),
    ],
)
def test_what_is_a_version(text: str, version: Version) -> None:
    parsed = Version.parse(text)
    assert (parsed, parsed.elasticsearch) == (version, version.elasticsearch)


@pytest.mark.parametrize(
    "text", ["", "3", "3.8", "v3.8.0", "3.8.0.1", "3.8.x", "latest", "3.8.0 beta", "3.8.0-", "-3.8.0"]
)
def test_what_is_no_version(text: str) -> None:
    with pytest.raises(ValueError) as caught:
        Version.parse(text)
    assert str(caught.value) == f"{text!r} is not a version: it must have the form 3.8.0"


@given(VERSIONS)
def test_a_version_is_read_as_it_is_written(version: Version) -> None:
    assert Version.parse(str(version)) == version


@given(VERSIONS, VERSIONS)
def test_versions_compare_by_number_and_not_by_text(one: Version, other: Version) -> None:
    def number(version: Version) -> int:
        return version.major * 10_000 + version.minor * 100 + version.patch

    assert (one < other) == (number(one) < number(other))
    assert (one == other) == (number(one) == number(other))


@pytest.mark.parametrize(
    ("number", "version", "text"),
    [
        (136408427, Version(2, 19, 6), "2.19.6"),
        (137297827, Version(3, 8, 0), "3.8.0"),
        (136327927, Version(2, 11, 1), "2.11.1"),
        (135249827, Version(1, 3, 20), "1.3.20"),
        (7100299, Version(1, 10, 2), "Elasticsearch 7.10.2"),
        (6082399, Version(0, 8, 23), "Elasticsearch 6.8.23"),
    ],
)
def test_ids_of_the_servers(number: int, version: Version, text: str) -> None:
    """The first two were read from servers; Elasticsearch's count as the servers compare them, and say their name."""
    assert Version.from_id(number) == version
    assert Version.from_id(number).titled == text


@given(VERSIONS, st.integers(0, 99))
def test_ids_are_read_as_the_server_makes_them(version: Version, build: int) -> None:
    plain = version.major * 1_000_000 + version.minor * 10_000 + version.patch * 100 + build
    assert Version.from_id(plain ^ 0x08000000) == version


@pytest.mark.parametrize(
    ("target", "oldest"),
    [("2.0.0", "1.0.0"), ("2.19.6", "1.0.0"), ("3.0.0", "2.19.0"), ("3.8.0", "2.19.0"), ("4.0.0", None)],
)
def test_the_oldest_member_that_a_version_talks_to(target: str, oldest: str | None) -> None:
    assert oldest_wire(Version.parse(target)) == (Version.parse(oldest) if oldest else None)


@pytest.mark.parametrize(
    ("present", "target", "code"),
    [
        ("2.19.6", "3.8.0", None),
        ("2.19.0", "3.0.0", None),
        ("3.6.0", "3.8.0", None),
        ("3.8.0", "3.8.0", None),
        ("1.3.20", "2.19.6", None),
        ("1.0.0", "2.0.0", None),
        ("2.18.0", "3.8.0", "wire_incompatible"),
        ("2.0.0", "3.0.0", "wire_incompatible"),
        ("1.3.20", "3.8.0", "majors_skipped"),
        ("2.19.6", "4.0.0", "majors_skipped"),
        # The last 3.x is not known yet, and no other one is let in.
        ("3.0.0", "4.0.0", "major_unknown"),
        ("3.99.0", "4.0.0", "major_unknown"),
        ("4.0.0", "4.1.0", None),
        ("3.8.0", "3.7.9", "downgrade"),
        ("3.8.1", "3.8.0", "downgrade"),
        ("3.8.0", "2.19.6", "downgrade"),
    ],
)
def test_the_way_to_a_version(present: str, target: str, code: str | None) -> None:
    verdict = judge_path([("data-0", Version.parse(present))], Version.parse(target))
    assert [reason.code for reason in verdict.reasons] == ([code] if code else [])
    assert verdict.state is (State.REFUSED if code else State.PASSED)
    assert all(f"data-0 runs {present}" in reason.message and reason.remedy for reason in verdict.reasons)


@pytest.mark.parametrize(
    ("present", "target", "code"),
    [
        ("8.18.0", "8.19.4", None),
        ("8.0.0", "8.19.4", None),
        ("7.17.29", "8.19.4", None),
        ("7.10.2", "7.17.29", None),
        ("8.18.8", "9.0.8", None),
        ("8.19.4", "9.1.0", None),
        ("9.0.0", "9.1.0", None),
        ("7.16.3", "8.19.4", "wire_incompatible"),
        ("8.18.8", "9.1.0", "wire_incompatible"),
        ("8.17.4", "9.0.0", "wire_incompatible"),
        ("8.19.4", "9.0.8", "released_before"),
        ("8.19.4", "8.18.0", "downgrade"),
        ("7.17.29", "9.1.0", "majors_skipped"),
    ],
)
def test_the_way_of_elasticsearch_to_a_version(present: str, target: str, code: str | None) -> None:
    verdict = judge_path([("data-0", Version.parse(present))], Version.parse(target))
    assert [reason.code for reason in verdict.reasons] == ([code] if code else [])
    assert all(f"data-0 runs {present}" in reason.message and reason.remedy for reason in verdict.reasons)


def test_the_last_minor_of_elasticsearch_9_is_not_known_yet() -> None:
    ten = Version.parse("10.0.0", elastic=True)
    assert (str(ten), oldest_wire(ten)) == ("10.0.0", None)
    (reason,) = judge_path([("data-0", Version.parse("9.2.0"))], ten).reasons
    assert reason.code == "major_unknown"
    assert "last minor version of 9.x" in reason.message


def test_a_target_of_another_server_is_refused() -> None:
    (reason,) = judge_path([("data-0", Version(2, 19, 6))], Version.parse("8.19.4")).reasons
    assert reason.code == "elasticsearch"
    assert reason.message == "data-0 runs OpenSearch 2.19.6, and 8.19.4 is a version of Elasticsearch."


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (7172999, "7.17.29"),  # up to 8.10 the id is that of a release
        (8100299, "8.10.2"),
        (8525000, "8.18.0"),
        (8536000, "8.19.4"),
        (8530000, "8.19.4"),
        (8536001, "8.0.0"),  # no member holds it, so only the major version is known
        (9009000, "9.0.0"),
    ],
)
def test_the_version_of_an_index_of_elasticsearch(number: int, expected: str) -> None:
    holding = [(8525000, Version.parse("8.18.0")), (8536000, Version.parse("8.19.4"))]
    assert str(created_in(number, holding)) == expected


def test_an_index_of_the_major_before_is_not_taken_for_one_of_the_oldest_member() -> None:
    assert str(created_in(8536000, [(9009000, Version.parse("9.1.0"))])) == "8.0.0"


@pytest.mark.parametrize(
    ("created", "target", "opens"),
    [("7.17.29", "9.1.0", True), ("7.17.29", "8.19.4", False), ("8.19.4", "9.1.0", False), ("2.19.6", "4.0.0", False)],
)
def test_what_elasticsearch_opens_to_read_only(created: str, target: str, opens: bool) -> None:
    assert opens_read_only(Version.parse(created), Version.parse(target)) is opens
    assert not opens_read_only(None, Version.parse(target))


def test_old_indices_of_elasticsearch_are_named_by_its_own_count() -> None:
    (reason,) = judge_created([("logs", Version.parse("6.8.23"))], Version.parse("8.19.4")).reasons
    assert reason.message == "Indices were created in 6.8.23, which 8.19.4 cannot open: logs."
    assert "7.0.0 is the oldest" in reason.remedy


@pytest.mark.parametrize("target", ["1.3.20", "2.19.6", "3.8.0"])
def test_elasticsearch_is_called_by_its_name(target: str) -> None:
    (reason,) = judge_path([("data-0", Version.parse("7.10.2"))], Version.parse(target)).reasons
    assert (reason.code, reason.state) == ("elasticsearch", State.REFUSED)
    assert reason.message.startswith("data-0 runs Elasticsearch 7.10.2, ")
    assert "OpenSearch 1.x" in reason.remedy
    assert "snapshot" in reason.remedy


def test_members_of_one_version_share_a_sentence() -> None:
    members = [*((f"data-{number}", Version(2, 18, 0)) for number in range(7)), ("ml-0", Version(3, 9, 0))]
    reasons = judge_path(members, Version(3, 8, 0)).reasons
    assert [reason.code for reason in reasons] == ["wire_incompatible", "downgrade"]
    assert "data-0, data-1, data-2, data-3, data-4 and 2 more run 2.18.0" in reasons[0].message


@given(VERSIONS, VERSIONS)
def test_no_way_leads_down_or_over_a_major(present: Version, target: Version) -> None:
    passed = judge_path([("data-0", present)], target).passed
    assert not passed or present <= target
    assert not passed or target.major - present.major <= 1
    assert passed or present != target
    assert passed or present.major != target.major or present > target


@pytest.mark.parametrize(
    ("number", "target", "opened"),
    [
        (136408427, "3.8.0", True),
        (135249827, "3.8.0", False),
        (135249827, "2.19.6", True),
        (7100299, "2.19.6", True),
        (7100299, "3.8.0", False),
        (6082399, "2.19.6", False),
        (137297827, "3.8.0", True),
    ],
)
def test_which_indices_a_version_opens(number: int, target: str, opened: bool) -> None:
    created = Version.from_id(number)
    verdict = judge_created([("logs", created)], Version.parse(target))
    assert verdict.passed is opened
    assert all(
        f"Indices were created in {created.titled}," in r.message and r.message.endswith("open: logs.")
        for r in verdict.reasons
    )


def test_old_indices_share_a_sentence_for_each_version() -> None:
    old = [(f"old-{number}", Version(1, 3, 20)) for number in range(6)]
    verdict = judge_created(
        [*old, (".kibana_1", Version.from_id(7100299)), ("new", Version(2, 19, 6))], Version(3, 8, 0)
    )
    assert [reason.code for reason in verdict.reasons] == ["index_too_old"] * 2
    assert verdict.reasons[0].message.endswith("old-0, old-1, old-2, old-3, old-4 and 1 more.")
    assert "Elasticsearch 7.10.2" in verdict.reasons[1].message


def test_an_index_that_does_not_tell_its_version_is_no_pass() -> None:
    verdict = judge_created([("logs", None)], Version(3, 8, 0))
    assert [(reason.code, reason.state) for reason in verdict.reasons] == [("index_version_unknown", State.REFUSED)]


@pytest.mark.parametrize(
    ("version", "target", "expected"),
    [
        ("1.3.20", "3.8.0", "1.3.20 → 2.19 → 3.8.0"),
        ("2.11.1", "3.8.0", "2.11.1 → 2.19 → 3.8.0"),
        ("2.19.6", "3.8.0", "2.19.6 → 3.8.0"),
        ("1.3.20", "4.0.0", "1.3.20 → 2.19 → the last 3.x → 4.0.0"),
        ("1.3.20", "2.19.6", "1.3.20 → 2.19.6"),
        ("3.6.0", "3.8.0", "3.6.0 → 3.8.0"),
        ("7.10.2", "9.1.0", "7.10.2 → 7.17 → 8.19 → 9.1.0"),
        ("7.17.29", "9.0.0", "7.17.29 → 8.18 → 9.0.0"),
        ("8.11.0", "9.1.0", "8.11.0 → 8.19 → 9.1.0"),
    ],
)
def test_the_way_is_named_hop_by_hop(version: str, target: str, expected: str) -> None:
    start, end = Version.parse(version), Version.parse(target)
    assert " → ".join(releases_between(start, end)) == expected
    reasons = judge_path([("a", start)], end).reasons
    assert [expected in reason.remedy for reason in reasons] == [True] * len(reasons)
