"""Virtual time."""

from __future__ import annotations

from tests.sandbox.clock import Clock
from tests.sandbox.web import Answer, Pending, Request, answered


def test_what_falls_due_happens_in_order_and_at_its_own_moment() -> None:
    clock, seen = Clock(0.0), list[tuple[str, float]]()

    def note(name: str) -> None:
        seen.append((name, clock.now()))

    def first() -> None:
        note("first")
        clock.later(0.5, lambda: note("in between"))

    clock.later(2, lambda: note("second"))
    clock.later(1, first)
    clock.advance(1.2)
    assert seen == [("first", 1.0)]
    clock.advance(5)
    assert seen == [("first", 1.0), ("in between", 1.5), ("second", 2.0)]
    assert clock.now() == 6.2


def test_a_listener_hears_of_each_action_that_fell_due() -> None:
    clock, heard = Clock(0.0), list[float]()
    clock.listeners.append(lambda: heard.append(clock.now()))
    clock.later(1, lambda: clock.later(1, lambda: None))
    clock.advance(5)
    assert heard == [1.0, 2.0]


def test_an_answer_is_pending_until_it_is_ready_or_its_time_is_over() -> None:
    clock, done = Clock(0.0), list[bool]()
    clock.later(1, lambda: done.append(True))
    pending = Pending(lambda: bool(done), 10, lambda: Answer(200, {"at": clock.now()}))
    assert 1 <= answered(lambda _: pending, Request("GET", "/"), clock).body["at"] < 1.1
    never = Pending(lambda: False, 3, lambda: Answer(408))
    began = clock.now()
    assert answered(lambda _: never, Request("GET", "/"), clock).status == 408
    assert clock.now() == began + 3
