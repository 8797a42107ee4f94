"""Words that the glossary replaces, as they are in each kind of file, and names that only look like them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.tree import ROOT
from tests.checks.wording import GLOSSARY, replaced, replaced_words

WORDS = {"told": "said", "the begin": "the start"}
MODULE = Path("plugins", "modules", "a.py")
PAGE = Path("docs", "a.md")
TABLE = Path("meta", "variables", "a.yml")


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        (PAGE, "# Fine\nIt is told.", 2),
        (PAGE, "```yaml\na: told\n```\n| a | Told |", 4),
        (Path("README.md"), "It is told.", 1),
        (Path("roles", "a", "README.md"), "It is told.", 1),
        (GLOSSARY, "It is told.\n| Say | Not |\n|---|---|\n| said | told |", 1),
        (MODULE, 'X = "fine"\nraise E(f"It {x} is told.")', 2),
        (MODULE, 'DOCUMENTATION = """\na:\n  description: It is told.\n"""', 3),
        (TABLE, "a:\n  description: It is told.", 2),
        (Path("roles", "a", "meta", "argument_specs.yml"), "description:\n  - It is told.", 2),
    ],
)
def test_a_word_that_is_replaced_is_found(path: Path, text: str, line: int) -> None:
    (found,) = replaced(path, text, WORDS)
    assert found.lower() == f'{line}: "told" is not a word of the glossary; say: said'


def test_several_words_are_one_phrase() -> None:
    assert len(list(replaced(PAGE, "The begin; we begin; they begin.", WORDS))) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (PAGE, "It is `told`, and [named](a.md#told)."),
        (PAGE, "  ```yaml\n  a: told\n  ```\nIt is untold."),
        (MODULE, '"""It is told."""\ndef f():\n    """Told."""\n    # told\n    return "told"'),
        (MODULE, 'RETURN = """\ntold: {description: A line.}\nchoices:\n  - told\n"""'),
        (MODULE, 'DOCUMENTATION = """\n- Is C(told)\n"""'),
        (TABLE, "see: running.md#what-is-told"),
        (Path("tests", "README.md"), "It is told."),
        (TABLE, "told:\n  description: It is C(told)."),
        (Path("tests", "test_a.py"), 'X = "It is told."'),
    ],
)
def test_names_and_other_texts_are_left_alone(path: Path, text: str) -> None:
    assert not list(replaced(path, text, WORDS))


def test_the_table_of_the_glossary_is_read() -> None:
    words = replaced_words((ROOT / GLOSSARY).read_text(encoding="utf-8"))
    assert {"told", "cure", "nobody", "somebody", "beside", "meanwhile", "the begin"} <= set(words)
    assert words["nobody"] == "no one"
