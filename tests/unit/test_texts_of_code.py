"""The texts that are read from code without running it."""

from __future__ import annotations

import ast

import pytest

from tests.pages.reading.sources import Source, Sources
from tests.pages.reading.texts import Reader, closed_up
from tests.pages.reading.values import Follower, Place, Value

OTHER = """
AGAIN = "Run it again."

def trouble(member):
    return f"member {member} does not answer"
"""


def texts(code: str) -> list[str]:
    """The texts of what `say` gets at the end of this code."""
    sources = Sources(
        {name: Source.parsed(name, text) for name, text in {"plugins/here": code, "plugins/other": OTHER}.items()}
    )
    source = sources.files["plugins/here"]
    calls = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call)]
    (said,) = [node.args[0] for node in calls if isinstance(node.func, ast.Name) and node.func.id == "say"]
    return Reader(Follower(sources)).texts(Value(said, Place(source)))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ('say("Member " "is down.")', ["Member is down."]),
        ('say(f"Member {name} is {n:.0f} s away.")', ["Member … is … s away."]),
        ('say(f"{name}/{pod} ({zone}) is not there.")', ["… is not there."]),
        ('WHERE = "here"\ndef f(): say(f"Nothing is {WHERE}.")', ["Nothing is here."]),
        ("from .other import AGAIN\nsay(AGAIN)", ["Run it again."]),
        ("from . import other\nsay(other.AGAIN)", ["Run it again."]),
        ('from .other import trouble\nsay(f"Now {trouble(one)}.")', ["Now member … does not answer."]),
        ('say("It is down." if down else "It is not back.")', ["It is down.", "It is not back."]),
        (
            "say(f\"{'Pods' if len(all) > 1 else 'Pod'} {all} {'is' if len(all) == 1 else 'are'} down.\")",
            ["Pod … is down.", "Pods … are down."],
        ),
        ('say(f"It is down{why}.")', ["It is down…."]),
        (
            'def f(x):\n more = f" for {x} seconds" if x else ""\n say(f"It is down{more}.")',
            ["It is down.", "It is down for … seconds."],
        ),
        ('def f():\n said = "It is late"\n said += ", and away."\n say(said)', ["It is late, and away."]),
        (
            'def f(x):\n if x:\n  said = "It is old."\n else:\n  said = "It is new here."\n say(said)',
            ["It is old.", "It is new here."],
        ),
        (
            'def f():\n said = "No, not this."\n said = "It is this."\n say(said)\n said = "Nor this one."',
            ["It is this."],
        ),
        ('def f(said):\n say(said)\nf("It is the caller\'s.")', ["It is the caller's."]),
        (
            'def f():\n for what in ("first", "second"):\n  say(f"The {what} one is away.")',
            ["The … one is away."],
        ),
        ('say(" ".join(["It is here.", "It is large."]))', ["It is here. It is large."]),
        (
            'WORDS = {"a": ("It is a cat.", "Feed it."), "b": ("It is a dog.", "")}\nsay(WORDS[kind][0])',
            ["It is a cat.", "It is a dog."],
        ),
        ("def f():\n say(unknown())", ["…"]),
    ],
)
def test_a_text_is_read(code: str, expected: list[str]) -> None:
    assert texts(code) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Node … (…) waits: ….", "Node … waits: …."),
        ("…:… and …, … are there.", "… and … are there."),
        ("It is away. ….", "It is away."),
        ("It is forced ().", "It is forced."),
        ("… (… of …) left.", "… (… of …) left."),
    ],
)
def test_what_is_open_is_said_once(text: str, expected: str) -> None:
    assert closed_up(text) == expected
