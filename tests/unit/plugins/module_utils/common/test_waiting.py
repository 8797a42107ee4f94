"""The one way to wait, in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import NoConnection, Refusal, Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import (
    Reason,
    State,
    Verdict,
    refused,
    remark,
    waiting,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.common.voice import Lines, Stages, Waiting
from ansible_collections.stateful.upgrade.plugins.module_utils.common.waiting import (
    FIRST_ANSWER,
    LONGEST_PAUSE,
    MonotonicClock,
    Patience,
    Remaining,
    Waited,
    wait_for,
)
from hypothesis import given
from hypothesis import strategies as st

PASSED = Verdict((remark("said", "A remark."),))
REFUSED = Verdict((refused("broken", "It is broken.", "Mend it."),))


@dataclass
class VirtualClock:
    """Time that passes only when a task sleeps or works."""

    time: float = 0.0
    slept: list[float] = field(default_factory=list)

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds


@dataclass
class Wait:
    """One wait with all that was said, at which second."""

    clock: VirtualClock = field(default_factory=VirtualClock)
    said: list[tuple[float, str]] = field(default_factory=list)
    looks: int = 0
    waited: Waited = field(default_factory=Waited)
    stages: Stages = field(default_factory=Stages)

    def run(
        self, verdict_at: Callable[[float], Verdict], timeout: float = 100.0, sleep: float = 1.0, work: float = 0.0
    ) -> tuple[float, Verdict]:
        """Wait for `verdict_at(second)`; each look takes `work` seconds and sees the second at its end."""
        start = self.clock.now()

        def look() -> float:
            self.looks += 1
            self.clock.time += work
            return self.clock.now() - start

        def say(line: str) -> None:
            self.said.append((self.clock.now() - start, line))

        return wait_for(
            look, verdict_at, Patience(timeout, sleep, stages=self.stages), self.clock, Lines(say), self.waited
        )


def because(*messages: str) -> Verdict:
    return Verdict((*(waiting(f"code_{text}", text, f"Fix {text}.") for text in messages), remark("said", "A remark.")))


def test_what_passes_at_once_is_not_waited_for() -> None:
    wait = Wait()
    assert wait.run(lambda _second: PASSED) == (0.0, PASSED)
    assert (wait.looks, wait.clock.slept, wait.said) == (1, [], [])


def test_a_refusal_ends_the_wait_as_it_is() -> None:
    wait = Wait()
    seen, verdict = wait.run(lambda second: because("slow") if second < 3 else REFUSED)
    assert (seen, verdict) == (3.0, REFUSED)


def away(second: float) -> Verdict:
    """An API that is out of reach until the fifth second."""
    if second < 5:
        raise Unreachable(refused("api_unreachable", "The API is away.", "Bring it back."))
    return PASSED


def test_an_api_out_of_reach_is_waited_for() -> None:
    wait = Wait()
    assert wait.run(away) == (5.0, PASSED)
    assert wait.said == [(0.0, "waiting: The API is away."), (3.0, "The API is away. Bring it back.")]


NOWHERE = NoConnection(refused("api_unreachable", "Nobody listens at search:9200.", "Check opensearch.hosts."))
BUSY = Unreachable(refused("api_unavailable", "search answers 503.", "Wait."))


@pytest.mark.parametrize(
    ("looks", "first", "ends_at"),
    [
        ([NOWHERE] * 30, FIRST_ANSWER, 5.0),  # no server has ever answered
        ([NOWHERE] * 30, None, 20.0),  # a run under way waits, whoever answered it before
        ([None, *[NOWHERE] * 29], FIRST_ANSWER, 20.0),  # a server has answered
        ([BUSY, *[NOWHERE] * 29], FIRST_ANSWER, 20.0),  # so has one that is busy
        ([*[NOWHERE] * 4, *[BUSY] * 26], FIRST_ANSWER, 20.0),  # one answers now
    ],
)
def test_an_address_where_nobody_ever_was_is_refused_at_once(
    looks: Sequence[Unreachable | None], first: float | None, ends_at: float
) -> None:
    wait = Wait()

    def look() -> None:
        error = looks[int(wait.clock.now())]
        if error is not None:
            raise error

    slow = Verdict((waiting("slow", "Slow.", "Wait."),))
    with pytest.raises(Refusal) as caught:
        wait_for(look, lambda _seen: slow, Patience(20.0, 1.0, first_answer=first), wait.clock, Lines())
    codes = [reason.code for reason in caught.value.verdict.reasons]
    assert (wait.clock.now(), "timed_out" in codes) == (ends_at, ends_at == 20.0)


def test_an_api_out_of_reach_to_the_end_is_refused() -> None:
    wait = Wait()

    def look() -> float:
        return float(away(wait.clock.now()).passed)

    with pytest.raises(Refusal) as caught:
        wait_for(look, lambda _seen: PASSED, Patience(4.0, 1.0), wait.clock, Lines())
    assert [(reason.code, reason.state) for reason in caught.value.verdict.reasons] == [
        ("api_unreachable", State.REFUSED),
        ("timed_out", State.REFUSED),
    ]


def test_every_change_of_reason_is_said_once_and_since_when() -> None:
    wait = Wait()
    phases = [(3.0, because("one")), (6.0, because("one", "two")), (9.0, because("one"))]
    _seen, verdict = wait.run(lambda second: next((v for until, v in phases if second < until), PASSED))
    assert verdict is PASSED
    assert wait.said == [(0.0, "waiting: one"), (3.0, "waiting 3 s: one two"), (6.0, "waiting 6 s: one")]


def test_a_remedy_that_changes_is_no_new_reason() -> None:
    wait = Wait()
    verdicts = [Verdict((waiting("slow", "Slow.", remedy),)) for remedy in ("Do this.", "Do that.")]
    wait.run(lambda second: verdicts[int(second)] if second < 2 else PASSED)
    assert wait.said == [(0.0, "waiting: Slow.")]


WORDS = {"code_stops": "stopping", "code_starts": "starting"}


def test_a_stage_is_told_by_its_word_and_anything_else_by_its_reason() -> None:
    wait = Wait(stages=Stages(WORDS))
    phases = [(3.0, because("stops")), (6.0, because("starts")), (9.0, because("starts", "crashes"))]
    wait.run(lambda second: next((v for until, v in phases if second < until), PASSED))
    assert wait.said == [(0.0, "stopping"), (3.0, "starting 3 s"), (6.0, "waiting 6 s: starts crashes")]


def test_of_several_stages_the_one_furthest_behind_is_told() -> None:
    assert Stages(WORDS).word(because("starts", "stops")) == "stopping"
    assert Stages(WORDS).word(PASSED) == ""


@pytest.mark.parametrize(
    ("usually", "seconds", "line"),
    [
        (None, 0.4, "starting"),
        (None, 36.0, "starting 36 s"),
        (45.0, 36.0, "starting 36 s (usually 45 s)"),
        (45.0, 90.0, "starting 1 min 30 s (usually 45 s)"),
        (45.0, 91.0, "waiting 1 min 31 s (usually 45 s): Pod a has started."),
        (None, 121.0, "waiting 2 min 1 s (longer than expected): Pod a has started."),
    ],
)
def test_a_stage_that_takes_twice_as_long_as_usual_is_told_with_its_reason(
    usually: float | None, seconds: float, line: str
) -> None:
    assert Waiting("Pod a has started.", seconds, "starting", usually).line() == line


def test_when_time_is_over_the_waiting_reasons_become_a_refusal() -> None:
    wait = Wait()
    seen, verdict = wait.run(lambda _second: because("one", "two"), timeout=20)
    assert seen == 20.0
    assert verdict.state is State.REFUSED
    assert [(r.state, r.code, r.message, r.remedy) for r in verdict.reasons] == [
        (State.REFUSED, "code_one", "one", "Fix one."),
        (State.REFUSED, "code_two", "two", "Fix two."),
        (State.REFUSED, "timed_out", "This did not change within 20 s (wait_timeout).", verdict.reasons[2].remedy),
        (State.PASSED, "said", "A remark.", ""),
    ]
    assert "wait_timeout" in verdict.reasons[2].remedy


def test_what_passes_in_the_last_look_has_passed() -> None:
    wait = Wait()
    assert wait.run(lambda second: because("slow") if second < 20 else PASSED, timeout=20) == (20.0, PASSED)


def test_looks_that_take_long_count() -> None:
    wait = Wait()
    seen, verdict = wait.run(lambda _second: because("slow"), timeout=20, work=15)
    assert (seen, verdict.state, wait.clock.slept) == (30.0, State.REFUSED, []), "a look that waited was the sleep"


def test_no_patience_is_one_look() -> None:
    wait = Wait()
    _seen, verdict = wait.run(lambda _second: because("slow"), timeout=0)
    assert (verdict.state, wait.looks, wait.clock.slept) == (State.REFUSED, 1, [])


@given(
    st.floats(0, 500),
    st.floats(0.5, 60),
    st.floats(0, 40),
    st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=40),
)
def test_no_wait_is_longer_than_its_patience(
    timeout: float, sleep: float, work: float, messages: Sequence[str]
) -> None:
    wait = Wait()
    _seen, verdict = wait.run(lambda second: because(messages[int(second) % len(messages)]), timeout, sleep, work)
    assert verdict.state is State.REFUSED
    spent = wait.clock.now()
    assert timeout - 1e-6 <= spent <= timeout + work + 1e-6
    assert all(0 <= seconds <= max(sleep, LONGEST_PAUSE) for seconds in wait.clock.slept)


def test_the_clock_of_the_machine_never_goes_back() -> None:
    clock = MonotonicClock()
    before = clock.now()
    assert clock.now() >= before


def test_reasons_are_said_as_they_are() -> None:
    reason = Reason(State.WAITING, "slow", "It is slow.", "Wait.")
    assert reason.sentence() == "It is slow. Wait."


def spent(wait: Wait) -> dict[str, float]:
    return {each["code"]: each["seconds"] for each in wait.waited.as_result()}


def test_each_reason_is_given_the_seconds_that_it_was_waited_for() -> None:
    wait = Wait()
    phases = [(3.0, because("one")), (5.0, because("one", "two")), (9.0, because("two"))]
    wait.run(lambda second: next((v for until, v in phases if second < until), PASSED))
    assert wait.waited.as_result() == [
        {"code": "code_two", "message": "two", "seconds": 6.0},
        {"code": "code_one", "message": "one", "seconds": 5.0},
    ]


def test_a_reason_of_many_things_whose_sentence_changes_has_its_seconds_once() -> None:
    wait, volumes = Wait(), [waiting("degraded", f"Volume {number} is degraded.") for number in range(75)]
    wait.run(lambda second: Verdict(tuple(volumes[int(second) :])) if second < 10 else PASSED)
    assert wait.waited.as_result() == [{"code": "degraded", "message": "Volume 0 is degraded.", "seconds": 10.0}]


def test_what_was_not_waited_for_has_no_seconds() -> None:
    wait = Wait()
    wait.run(lambda _second: PASSED)
    wait.run(lambda _second: REFUSED)
    assert wait.waited.as_result() == []


def test_the_seconds_of_a_slow_look_belong_to_what_was_seen_before_it() -> None:
    wait = Wait()
    wait.run(lambda second: because("slow") if second < 10 else PASSED, work=9)
    assert spent(wait) == {"code_slow": 9.0}


def test_an_api_out_of_reach_is_given_its_seconds() -> None:
    wait = Wait()
    wait.run(away)
    assert spent(wait) == {"api_unreachable": 5.0}


def test_the_seconds_of_two_waits_of_a_task_add_up_and_nothing_is_waited_for_in_between() -> None:
    wait = Wait()
    seen: list[str] = []

    def verdict_at(second: float) -> Verdict:
        seen.append(wait.waited.present)
        return because("slow") if second < 2 else PASSED

    for _time in range(2):
        wait.run(verdict_at)
    assert spent(wait) == {"code_slow": 4.0}
    assert seen == ["", "slow", "slow"] * 2


@given(st.floats(0, 200), st.floats(0, 20), st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=20))
def test_no_second_is_lost_or_counted_twice(timeout: float, work: float, messages: Sequence[str]) -> None:
    wait = Wait()
    wait.run(lambda second: because(messages[int(second) % len(messages)]), timeout, work=work)
    assert sum(wait.waited.seconds.values()) == pytest.approx(wait.clock.now() - work)


class Shards:
    """A wait for shards of which so many are left at each second."""

    def __init__(self, left: Callable[[float], float], timeout: float = 10.0, limit: float | None = None) -> None:
        self.clock, self.left = VirtualClock(), left
        patience = Patience(timeout, 1.0, limit=limit, remaining=self.remaining)
        self.seconds, self.verdict = wait_for(
            self.clock.now,
            lambda second: because("shards") if left(second) else PASSED,
            patience,
            self.clock,
            Lines(),
        )

    def remaining(self, second: float) -> Remaining:
        return {"code_shards": (self.left(second),), "code_else": (-second,)}


def test_what_advances_has_no_deadline() -> None:
    wait = Shards(lambda second: max(0, 100 - second // 9))
    assert (wait.seconds, wait.verdict) == (900.0, PASSED)


def test_what_stalls_is_refused_so_long_after_its_last_progress() -> None:
    wait = Shards(lambda second: max(3, 8 - second // 9))
    assert wait.seconds == 55.0
    assert "did not change within 10 s (wait_timeout)" in wait.verdict.reasons[-2].message


def test_what_goes_up_and_down_makes_no_progress() -> None:
    assert Shards(lambda second: 5 + second % 3).seconds == 10.0


def test_however_much_advances_nothing_lasts_longer_than_its_limit() -> None:
    wait = Shards(lambda second: 1000 - second, limit=25.0)
    assert wait.seconds == 25.0
    assert "not ended within 25 s" in wait.verdict.reasons[-2].message
    assert "wait_limit" in wait.verdict.reasons[-2].remedy


def test_progress_of_what_is_not_waited_for_is_none() -> None:
    assert Shards(lambda _second: 5).seconds == 10.0


def handed_back(silent: Callable[[float], bool], timeout: float = 100.0) -> tuple[float, Verdict]:
    """Seconds until a verdict that stays `waiting` is handed back after 15 s, while the API is silent at some times."""
    clock = VirtualClock()

    def look() -> float:
        clock.time += 2.0
        if silent(clock.time):
            raise Unreachable(refused("away", "It is away.", "Wait."))
        return clock.time

    patience = Patience(timeout, 1.0, hands_back_after=15.0)
    return wait_for(look, lambda _at: Verdict((waiting("busy", "It is busy."),)), patience, clock, Lines())


def test_only_time_with_an_answer_counts_before_a_verdict_is_handed_back() -> None:
    at, verdict = handed_back(lambda _at: False)
    assert (at, verdict.state) == (16.0, State.WAITING)
    at, verdict = handed_back(lambda at: 5 < at < 60)
    assert verdict.state is State.WAITING
    assert 70 <= at <= 70 + 54 / 50, "the silence of 54 s is not counted"


def test_what_never_answers_is_waited_for_until_the_end() -> None:
    with pytest.raises(Refusal) as caught:
        handed_back(lambda at: at > 5)
    assert [reason.code for reason in caught.value.verdict.reasons] == ["away", "timed_out"]


def test_silence_at_the_end_of_a_short_wait_is_no_refusal_for_whoever_asks_again() -> None:
    def silent() -> float:
        raise Unreachable(refused("away", "It is away.", "Wait."))

    patience = Patience(5.0, 1.0, hands_back=True)
    with pytest.raises(Unreachable):
        wait_for(silent, lambda _at: Verdict(), patience, VirtualClock(), Lines())
