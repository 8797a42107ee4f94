"""Pages, messages and descriptions of options have no word that docs/glossary.md replaces.

Names stay as they are: code between backticks or in a block, targets of links, keys of YAML, and what Ansible's
markup (`C(…)`, `O(…)`) encloses. Comments and docstrings are not looked through.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from tests.checks.tree import ROOT

GLOSSARY = Path("docs", "glossary.md")
HEAD = "| Say | Not |"
BLOCK = re.compile(r"^( *)```.*?^ *```", re.DOTALL | re.MULTILINE)
NAMES = re.compile(r"`[^`\n]*`|\]\([^)\n]*\)|\b[\w-]+\.md#[\w-]+|\b[A-Z]+\([^)\n]*\)")
KEY = re.compile(r"^\s*(?:- )?[\w.]+:(?=\s|$)")


def replaced_words(glossary: str) -> Mapping[str, str]:
    """The words that are not said, each with those to say."""
    lines = glossary.splitlines()
    rows = lines[lines.index(HEAD) + 2 :]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows if row.startswith("|")]
    return {word: say for say, words in cells for word in words.split(", ")}


@cache
def _of_the_project() -> Mapping[str, str]:
    return replaced_words((ROOT / GLOSSARY).read_text(encoding="utf-8"))


def _without_names(text: str) -> str:
    """The text without names, in the same number of lines."""
    without_blocks = BLOCK.sub(lambda block: "\n" * block[0].count("\n"), text)
    return NAMES.sub("", without_blocks)


def _messages(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, text) of each string of several words that is no docstring."""
    bodies = [body for node in ast.walk(tree) if isinstance(body := getattr(node, "body", None), list)]
    docstrings = {id(each.value) for body in bodies for each in body if isinstance(each, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            for further, line in enumerate(node.value.splitlines()):
                if " " in line.strip(" -"):
                    yield node.lineno + further, KEY.sub("", line)


def _sentences(path: Path, text: str) -> Iterable[tuple[int, str]]:
    """(line, text) of what a user reads in a file."""
    if path.suffix == ".md" and (path.parts[0] in {"docs", "roles"} or path == Path("README.md")):
        prose = text.partition(HEAD)[0] if path == GLOSSARY else text
        return list(enumerate(_without_names(prose).splitlines(), 1))
    if path.suffix == ".py" and path.parts[0] in {"plugins", "extensions"}:
        return [(line, _without_names(said)) for line, said in _messages(ast.parse(text))]
    if path.suffix in {".yml", ".yaml"} and (
        path.parts[:2] == ("meta", "variables") or path.name == "argument_specs.yml"
    ):
        return [(line, KEY.sub("", said)) for line, said in enumerate(_without_names(text).splitlines(), 1)]
    return []


def replaced(path: Path, text: str, words: Mapping[str, str] | None = None) -> Iterator[str]:
    """The words of a file that the glossary replaces; `path` is relative to the root."""
    words = _of_the_project() if words is None else words
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})\b", re.IGNORECASE)
    for line, said in _sentences(path, text):
        for word in pattern.findall(said):
            yield f'{line}: "{word}" is not a word of the glossary; say: {words[word.lower()]}'
