"""The request of an upgrade: read as it was written, or refused with its place and its fault."""

from __future__ import annotations

import pytest
import yaml
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.run.start.request import (
    LONGEST,
    judge_unchanged,
    read_request,
)
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.usefixtures("uncollected")
GOOD = "type: opensearch\ntarget_version: 3.10\nupgrade_at: 2026-11-21T02:00:00Z\nupgrade_members: [a, b]\n"
NAMES = st.from_regex(r"upgrade_[a-z]{1,8}", fullmatch=True)
TEXTS = st.text(st.characters(whitelist_categories=("L", "N")), min_size=1, max_size=12)


def test_scalars_stay_the_text_that_was_written() -> None:
    request = read_request(GOOD, "here")
    assert (request.type, request.faults) == ("opensearch", ())
    assert request.variables == {
        "target_version": "3.10",
        "upgrade_at": "2026-11-21T02:00:00Z",
        "upgrade_members": ["a", "b"],
    }


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("", "it is not a mapping"),
        ("- a\n", "it is not a mapping"),
        ("a: [\n", "it is no YAML (line 2)"),
        ("a: *b\n", "it is no YAML (line 1)"),
        ("? [a]\n: b\n", "one of its names is no text"),
        ("a: b\n---\na: c\n", "it is no YAML"),
        ("a: " + "[" * 3000 + "]" * 3000, "it is nested too deep"),
        ("a: '" + "b" * LONGEST + "'", "cannot be read"),
        ("a: b\n" + "#" * LONGEST, "it is longer than 64 KiB"),
    ],
)
def test_what_is_no_request_is_refused_with_its_place(text: str, cause: str) -> None:
    with pytest.raises(Refusal, match="The request in here cannot be read") as caught:
        read_request(text, "here")
    assert cause in str(caught.value)


def test_a_name_that_stands_twice_and_a_template_are_faults() -> None:
    request = read_request("type: a\nupgrade_x: 1\nupgrade_x: 2\nupgrade_y: ['{{ lookup(1) }}']\n", "here")
    assert request.faults == (
        "upgrade_x is in the request more than once.",
        "upgrade_y holds a template in the request, which is never carried out: write the value itself.",
    )


@given(st.dictionaries(NAMES, TEXTS, min_size=2, max_size=5), st.randoms(use_true_random=False))
def test_the_digest_tells_content_and_not_layout(variables: dict[str, str], random: object) -> None:
    names = list(variables)
    random.shuffle(names)  # type: ignore[attr-defined]
    plain = yaml.safe_dump(variables, default_style='"', sort_keys=False, allow_unicode=True)
    other = "# a comment\n\n" + "".join(f"{name}:   '{variables[name]}'\n" for name in names)
    assert read_request(plain, "here").digest == read_request(other, "here").digest
    assert read_request(plain + "type: x\n", "here").digest != read_request(plain, "here").digest


def test_another_request_and_one_that_is_gone_are_waited_for() -> None:
    request = read_request(GOOD, "here")
    assert judge_unchanged(request, request.digest, "here").passed
    assert [each.code for each in judge_unchanged(request, "other", "here").deciding()] == ["request_changed"]
    assert [each.code for each in judge_unchanged(None, request.digest, "here").deciding()] == ["request_withdrawn"]
