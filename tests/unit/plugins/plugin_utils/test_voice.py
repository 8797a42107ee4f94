# SPDX-License-Identifier: GPL-3.0-or-later
"""Live lines: masked, short, never a flood."""

from __future__ import annotations

from ansible_collections.stateful.upgrade.plugins.plugin_utils.voice import LONGEST, MOST, SPAN, Voice


class Stand:
    """A voice whose lines and time are in the test's hands."""

    def __init__(self, *secrets: str) -> None:
        self.lines: list[str] = []
        self.time = 0.0
        self.voice = Voice(self.lines.append, "host", secrets, lambda: self.time)

    def say(self, *lines: str) -> list[str]:
        """The lines that come out."""
        self.lines.clear()
        for line in lines:
            self.voice.progress(line)
        return self.lines


def test_a_line_names_its_host() -> None:
    assert Stand().say("waiting: shard 3") == ["[host] waiting: shard 3"]


def test_a_line_is_one_line() -> None:
    assert Stand().say("two\n  lines\ttabbed") == ["[host] two lines tabbed"]


def test_a_line_can_do_nothing_to_a_terminal() -> None:
    (line,) = Stand().say("\x1b[2Jnode \u202ea")
    assert line.isprintable()
    assert line.startswith("[host] ")


def test_secrets_are_masked() -> None:
    assert Stand("s3cret").say("with s3cret inside") == ["[host] with ******** inside"]


def test_a_secret_of_several_lines_is_masked() -> None:
    assert Stand("a\n b").say("with a\n b inside") == ["[host] with ******** inside"]


def test_a_long_line_is_cut_after_masking() -> None:
    (line,) = Stand("s3cret").say("x" * (LONGEST - 10) + "s3cret" + "y" * LONGEST)
    assert len(line) == LONGEST
    assert line.endswith("x**…")
    assert "s3" not in line


def test_the_same_line_is_said_once_until_a_sign_of_life_is_due() -> None:
    stand = Stand()
    assert len(stand.say("same", "same")) == 1
    stand.time = 29.9
    assert stand.say("same") == []
    stand.time = 30.0
    assert stand.say("same") == ["[host] same"]


def test_a_flood_is_cut_and_counted() -> None:
    stand = Stand()
    assert len(stand.say(*map(str, range(MOST + 5)))) == MOST
    stand.time = SPAN
    assert stand.say("later", "again") == ["[host] (5 lines left out) later", "[host] again"]


def test_the_end_tells_what_was_left_out() -> None:
    stand = Stand()
    stand.say(*map(str, range(MOST + 5)))
    stand.voice.finish()
    assert stand.lines[-1] == "[host] (5 lines left out)"


def test_the_end_is_silent_where_nothing_was_left_out() -> None:
    stand = Stand()
    stand.say("one")
    stand.voice.finish()
    assert stand.lines == ["[host] one"]
