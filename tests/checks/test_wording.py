"""Sentences without a subject in front, as they stand in each kind of file, and others that only look like them."""

from __future__ import annotations

import pytest

from tests.checks.wording import OPENINGS, without_subject


@pytest.mark.parametrize(
    "text",
    [
        '"""{} one plan took."""',
        'f"{} {{pool}} waits for is not there."',
        'return refused("code", "{} holds the lock is alive.")',
        "# {} a developer does here.",
        "## {} the rows mean",
        "| Check | {} it asks |",
        "- {} is not there",
        "description: {} is planned.",
        "  - name: {} is planned",
        "It is for people. {} is next is read from the cluster.",
        "One thing; {} comes then.",
    ],
)
@pytest.mark.parametrize("word", OPENINGS)
def test_a_sentence_without_its_subject_is_found(text: str, word: str) -> None:
    (found,) = without_subject("Fine.\n" + text.format(word))
    assert found == f'2: a sentence opens with "{word}"; begin it with its subject'


@pytest.mark.parametrize(
    "text",
    [
        '"""The reason why a copy is on no member."""',
        "- name: How far is the upgrade?",
        '"Who holds the lock?"',
        "The plan says what goes, and where.",
        "Wholly new; Whether it is there.",
        "when: WHERE is None",
    ],
)
def test_other_sentences_are_left_alone(text: str) -> None:
    assert not list(without_subject(text))
