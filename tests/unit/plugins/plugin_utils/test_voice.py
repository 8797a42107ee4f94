"""The lines of a task: masked, short, never a flood and never silent for long; and the live line of a terminal."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict, waiting
from ansible_collections.stateful.upgrade.plugins.module_utils.common.voice import Waiting
from ansible_collections.stateful.upgrade.plugins.module_utils.common.waiting import Patience, wait_for
from ansible_collections.stateful.upgrade.plugins.plugin_utils.voice import (
    LONG_SILENCE,
    LONGEST,
    LONGEST_IN_A_FILE,
    MOST,
    SHARE_OF_WAIT,
    SIGN_OF_LIFE,
    SPAN,
    TURN,
    DisplayVoice,
    Label,
    label_of,
    longest_of,
    width_of,
)
from ansible_collections.stateful.upgrade.plugins.plugin_utils.voice import Screen as Terminal
from hypothesis import given
from hypothesis import strategies as st

HOST = Label("[host]")
BATCH = Label("2/3", "members-0")


@dataclass
class Screen:
    """All that was shown."""

    lines: list[str] = field(default_factory=list)
    lively: list[str] = field(default_factory=list)

    def line(self, text: str, *, done: bool = False) -> None:
        assert done == text.startswith("✔")
        self.lines.append(text)

    def live(self, text: str) -> None:
        self.lively.append(text)


class Stand:
    """A voice whose lines and time are in the test's hands."""

    def __init__(self, *secrets: str, label: Label = HOST, width: int = 0, longest: int = LONGEST) -> None:
        self.screen = Screen()
        self.time = 0.0
        self.voice = DisplayVoice(self.screen, label, secrets, Terminal(width, longest), self.now)

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds

    def say(self, *lines: str) -> list[str]:
        """The lines that come out."""
        self.screen.lines.clear()
        for line in lines:
            self.voice.progress(line)
        return self.screen.lines

    def wait(self, at: float, reason: str = "slow") -> None:
        self.time = at
        self.voice.waits(Waiting(reason, at))


def test_a_line_names_its_host() -> None:
    assert Stand().say("asking again") == ["[host] asking again"]


def test_a_line_of_a_batch_has_its_place() -> None:
    assert Stand(label=BATCH).say("members-0 goes down") == ["  2/3 members-0 goes down"]


def test_a_batch_that_is_done_is_marked_with_its_members() -> None:
    stand = Stand(label=BATCH)
    stand.voice.done("42 s, about 2 min left")
    assert stand.screen.lines == ["✔ 2/3 members-0   42 s, about 2 min left"]


@pytest.mark.parametrize(
    ("batch", "own", "label"),
    [
        (None, True, Label()),
        (None, False, Label("[here]")),
        ({"members": ["a"], "place": "1/2"}, True, Label("1/2", "a")),
        ({"members": ["a", "b", "c"], "place": "1/2"}, True, Label("1/2", "a and 2 more")),
        ({"members": ["a"]}, True, Label("", "a")),
        ({"members": ["a"], "place": "1/2"}, False, Label("1/2", "a")),
        ("text", True, Label()),
    ],
)
def test_the_label_is_the_batch_or_the_host_of_a_users_task(batch: object, own: bool, label: Label) -> None:
    assert label_of({"inventory_hostname": "here", "upgrade_batch": batch}, own=own) == label


def test_a_line_is_one_line() -> None:
    assert Stand().say("two\n  lines\ttabbed") == ["[host] two lines tabbed"]


def test_a_line_can_do_nothing_to_a_terminal() -> None:
    (line,) = Stand().say("\x1b[2Jnode \u202ea")
    assert line.isprintable()
    assert line.startswith("[host] ")


def test_a_shown_line_keeps_its_columns_and_can_do_nothing_to_a_terminal() -> None:
    stand = Stand("s3cret")
    stand.voice.show("  1   a   \x1b[2Jb s3cret  ")
    (line,) = stand.screen.lines
    assert line.isprintable()
    assert line.startswith("  1   a   ")
    assert line.endswith("b ********")


def test_secrets_are_masked() -> None:
    assert Stand("s3cret").say("with s3cret inside") == ["[host] with ******** inside"]


def test_a_secret_of_several_lines_is_masked() -> None:
    assert Stand("a\n b").say("with a\n b inside") == ["[host] with ******** inside"]


def test_a_long_line_is_cut_after_masking() -> None:
    (line,) = Stand("s3cret").say("x" * (LONGEST - 10) + "s3cret" + "y" * LONGEST)
    assert len(line) == LONGEST
    assert line.endswith("x**…")


@pytest.mark.parametrize(
    ("environment", "terminal", "longest"),
    [
        ({}, True, LONGEST),
        ({}, False, LONGEST_IN_A_FILE),
        ({"AWX_ISOLATED_DATA_DIR": "/runner"}, True, LONGEST_IN_A_FILE),
    ],
)
def test_a_file_gets_the_whole_line(environment: dict[str, str], terminal: bool, longest: int) -> None:
    text = "members-0 is not in the cluster, and " + "x" * LONGEST
    most = longest_of(environment, terminal=terminal)
    (line,) = Stand(label=Label(), longest=most).say(text)
    assert line == (text if longest > len(text) else f"{text[: longest - 1]}…")
    assert most == longest
    assert "s3" not in line


def test_the_same_line_is_said_once_until_a_sign_of_life_is_due() -> None:
    stand = Stand()
    assert len(stand.say("same", "same")) == 1
    stand.time = SIGN_OF_LIFE - 0.1
    assert stand.say("same") == []
    stand.time = SIGN_OF_LIFE
    assert stand.say("same") == ["[host] same"]


def test_a_flood_is_cut_and_counted() -> None:
    stand = Stand()
    assert len(stand.say(*map(str, range(MOST + 5)))) == MOST
    stand.time = SPAN
    assert stand.say("later", "again") == ["[host] later (5 lines left out before)", "[host] again"]


def test_the_end_tells_what_was_left_out() -> None:
    stand = Stand()
    stand.say(*map(str, range(MOST + 5)))
    stand.voice.finish()
    assert stand.screen.lines[-1] == "[host] (5 lines left out)"


def test_the_end_is_silent_where_nothing_was_left_out() -> None:
    stand = Stand()
    stand.say("one")
    stand.voice.finish()
    assert (stand.screen.lines, stand.screen.lively) == (["[host] one"], [])


def test_a_short_wait_is_no_line_in_a_log() -> None:
    stand = Stand(label=BATCH)
    for second in range(15):
        stand.wait(second)
    assert stand.screen.lines == []
    stand.wait(15.0)
    assert stand.screen.lines == ["  2/3 members-0   waiting 15 s: slow"]


@given(st.lists(st.tuples(st.floats(0.1, 5), st.sampled_from(["a", "b", "c"])), min_size=1, max_size=60))
def test_a_log_is_never_silent_for_long(looks: list[tuple[float, str]]) -> None:
    stand, spoken = Stand(), [0.0]
    for after, reason in looks:
        stand.wait(stand.time + after, reason)
        spoken += [stand.time] * (len(stand.screen.lines) + 1 - len(spoken))
    spoken.append(stand.time)
    assert all(later - sooner <= max(SIGN_OF_LIFE, SHARE_OF_WAIT * later) + 5 for sooner, later in pairwise(spoken))
    assert len(stand.screen.lines) <= stand.time / SIGN_OF_LIFE


def test_hours_of_one_wait_do_not_fill_a_log_and_another_reason_is_said_soon() -> None:
    stand, spoken = Stand(), [0.0]
    for second in range(0, 6 * 3600, 5):
        stand.wait(float(second), "slow")
        spoken += [stand.time] * (len(stand.screen.lines) + 1 - len(spoken))
    assert all(later - sooner <= LONG_SILENCE + 5 for sooner, later in pairwise(spoken))
    assert len(spoken) < 100
    stand.wait(spoken[-1] + SIGN_OF_LIFE, "another")
    assert stand.screen.lines[-1].endswith("another")


def test_a_terminal_shows_each_wait_in_one_line_that_is_removed_at_the_end() -> None:
    stand = Stand(label=BATCH, width=40)
    for number in range(4):
        stand.wait(number * TURN, f"shard {number} of a long list that no terminal has room for")
    stand.voice.finish()
    assert stand.screen.lines == []
    assert stand.screen.lively[0] == "⠙ 2/3 members-0   waiting: shard 0 of …"
    assert len(stand.screen.lively) == 5
    assert stand.screen.lively[-1] == ""
    assert max(map(len, stand.screen.lively)) < 40


@pytest.mark.parametrize(
    ("environment", "width"),
    [
        ({"TERM": "xterm"}, 80),
        ({}, 0),
        ({"TERM": "dumb"}, 0),
        ({"TERM": "xterm", "AWX_ISOLATED_DATA_DIR": "/runner/artifacts/1"}, 0),
    ],
)
def test_a_live_line_needs_a_terminal_at_which_somebody_sits(environment: dict[str, str], width: int) -> None:
    assert width_of(environment, 80) == width
    assert width_of(environment, 0) == 0


def test_a_terminal_is_not_written_to_at_every_look() -> None:
    stand = Stand(width=80)
    for number in range(100):
        stand.wait(number * TURN / 10)
    assert 9 <= len(stand.screen.lively) <= 11


def test_a_wait_speaks_with_this_voice() -> None:
    stand = Stand(label=BATCH)
    slow = Verdict((waiting("slow", "It is slow."),))
    wait_for(lambda: None, lambda _seen: slow, Patience(40.0, 1.0), stand, stand.voice)
    assert stand.screen.lines == [f"  2/3 members-0   waiting {second} s: It is slow." for second in (15, 30)]
