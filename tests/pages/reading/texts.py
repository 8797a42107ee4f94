"""The texts that an expression can give, with `…` in the place of what only a run knows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from .values import Follower, Value

GAP = "…"
MOST = 8
"""The most texts of one expression."""
FEW_WORDS = 3
DEPTH = 8
WORD = re.compile(r"[^\W\d_]{2,}")
_BETWEEN = re.compile(rf"{GAP}(?:(?:[\s,/'\"@=-]|[.:](?!\s))*{GAP})+")
_LATER = re.compile(r"<\w+>")
"""A mark that code replaces later."""
_IN_BRACKETS = re.compile(rf" ?\((?:{GAP})?\)(?=[\s.,:;])")
_OPEN = re.compile(r"\{\w*\}")
_EMPTY_SENTENCE = re.compile(rf"(?<=[.!?])(?: {GAP}\.?|{GAP})$")
PLAIN = {"strip", "rstrip", "lstrip", "removesuffix", "removeprefix", "capitalize", "lower", "format"}
"""Methods after which a text still reads the same."""


def words(text: str) -> int:
    """The number of words that are not left open."""
    return len(WORD.findall(text))


def closed_up(text: str) -> str:
    """The text with one `…` for several in a row."""
    text = " ".join(_LATER.sub(GAP, text).split())
    before = ""
    while before != text:
        before, text = text, _BETWEEN.sub(GAP, _IN_BRACKETS.sub("", text))
    return _EMPTY_SENTENCE.sub("", text)


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads texts of expressions."""

    follower: Follower
    bold: bool = False
    """Whether a part of a sentence that other code chooses is shown as its first choice. Else it stays open."""
    depth: int = DEPTH
    """The most f-strings and calls that are inside of each other."""

    def texts(self, value: Value) -> list[str]:
        """The texts, the first choice first; `…` for one that cannot be read."""
        found = [closed_up(each) for each in self._texts(value)]
        if all(words(each) < FEW_WORDS - 1 for each in found):
            found = [closed_up(each) for each in replace(self, bold=True)._texts(value)]
        return list(dict.fromkeys(found))

    def _texts(self, value: Value) -> list[str]:
        return list(dict.fromkeys(text for _end, text in self._read(value)))[:MOST]

    def _read(self, value: Value) -> Iterator[tuple[Value, str]]:
        """What the expression stands for in the end, with its texts."""
        inner = replace(self, depth=self.depth - 1)
        for end in self.follower.ends(value) if self.depth else ():
            yield from ((end, text) for text in inner._of(end))

    def _of(self, value: Value) -> Iterable[str]:
        node = value.node
        if isinstance(node, ast.Constant):
            return [] if node.value is None else [str(node.value)]
        if isinstance(node, ast.JoinedStr):
            return _joined(_needed([self._piece(value.of(each)) for each in node.values]))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return _joined([self._texts(value.of(each)) for each in (node.left, node.right)])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return self._of_method(value, node, node.func)
        return [GAP]

    def _piece(self, value: Value) -> list[str]:
        """The texts of a part of an f-string."""
        node = value.node
        if not isinstance(node, ast.FormattedValue):
            return self._texts(value)
        if node.format_spec is not None:
            return [GAP]
        read = list(self._read(value.of(node.value)))
        texts = list(dict.fromkeys(text for _end, text in read))
        if self.bold:
            return [each for each in texts if each and not _vague(each)][:2] or [GAP]
        chosen = [(end, text) for end, text in read if end.chosen]
        is_name = len(texts) > 1 and bool(chosen) and all(text and not {" ", GAP} & {*text} for _end, text in chosen)
        is_foreign = any(end.place.source is not value.place.source for end, _text in chosen)
        return [GAP] if is_name or is_foreign else _decided(texts)

    def _of_method(self, value: Value, node: ast.Call, function: ast.Attribute) -> Iterable[str]:
        base, given = value.of(function.value), node.args
        if function.attr == "join" and len(given) == 1:
            return self._of_parts((*self._texts(base), " ")[0], value.of(given[0]))
        if function.attr == "replace" and all(isinstance(each, ast.Constant) for each in given):
            old, new = (str(each.value) for each in given[:2] if isinstance(each, ast.Constant))
            return [each.replace(old, new) for each in self._texts(base)]
        if function.attr in PLAIN:
            return [_OPEN.sub(GAP, each) if function.attr == "format" else each for each in self._texts(base)]
        return [GAP]

    def _of_parts(self, between: str, value: Value) -> Iterator[str]:
        """The texts of what is joined; of parts that a loop makes, those of one."""
        for end in self.follower.ends(value):
            node = end.node
            if isinstance(node, (ast.List, ast.Tuple)):
                yield between.join(texts[0] for each in node.elts if (texts := self._texts(end.of(each))) and texts[0])
            elif isinstance(node, (ast.ListComp, ast.GeneratorExp)):
                yield from self._texts(end.of(node.elt))
            elif isinstance(node, ast.Call) and node.args:
                # Such as filter(None, …) or sorted(…).
                yield from self._of_parts(between, end.of(node.args[-1]))
            else:
                yield from self._of(end)


def _joined(pieces: Sequence[Sequence[str]]) -> list[str]:
    """The pieces in a row. Where they have variants, the first ones go together, as do the second ones."""
    known = [each or [""] for each in pieces]
    variants = range(max(map(len, known), default=1))
    return ["".join(each[min(number, len(each) - 1)] for each in known) for number in variants]


def _needed(pieces: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """The pieces of an f-string: what is there only at times is no end of a word or of a bracket, and no beginning."""
    before = [" ", *((each or [""])[0] for each in pieces)]
    return [
        [each for each in piece if each] or [GAP] if "" in piece and there.endswith((" ", "(")) else piece
        for there, piece in zip(before, pieces, strict=False)
    ]


def _decided(texts: Sequence[str]) -> list[str]:
    """The texts to show for a part of a sentence: what is there only at times is left out first."""
    full = [each for each in texts if each and not _vague(each)]
    if "" in texts and len(texts) > 1:
        is_plain = len(texts) == 2 and not any(GAP in each for each in texts)
        return list(texts) if is_plain else ["", *full[:1]]
    if not full or GAP in texts:
        return [GAP]
    are_words = len(full) <= 2 and not any(GAP in each for each in full)
    return full[:2] if len(full) == 1 or are_words or words(full[0]) != 1 else [GAP]


def _vague(text: str) -> bool:
    """Whether a text says no more than `…`: an enumeration, a duration, a number."""
    return GAP in text and words(text) < FEW_WORDS - 1
