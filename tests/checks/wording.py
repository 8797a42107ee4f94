"""Sentences begin with their subject: in docstrings, comments, headings, cells of tables, options and messages alike.

A sentence that opens with "What" or "Where" is understood at its end only, and somebody woken at three reads it once.
Questions may open so, and so may a clause after a comma.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

OPENINGS = ("How", "What", "Whatever", "Where", "Wherever", "Which", "Who", "Whoever", "Whom", "Whose", "Why")
SENTENCE = re.compile(rf"(?:^[^A-Za-z0-9]*|[.:;!?|] |[\"'(])({'|'.join(OPENINGS)})\b(?=[ ,|])([^.?]*\??)")
"""Such a word at the beginning of a line, a sentence, a cell or a text, up to its end, which tells a question."""


def without_subject(text: str) -> Iterator[str]:
    """The sentences that open with another word in the place of their subject."""
    for number, line in enumerate(text.splitlines(), start=1):
        for word, rest in SENTENCE.findall(line):
            if not rest.endswith("?"):
                yield f'{number}: a sentence opens with "{word}"; begin it with its subject'
