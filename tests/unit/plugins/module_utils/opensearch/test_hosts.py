"""Which host of a cluster is asked, and how often."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.hosts import (
    LOCAL,
    Hosts,
    HttpAnswer,
    Question,
    TwoAddresses,
    Unanswered,
)

LOOK, ONCE = Question("GET", "/_cluster/health"), Question("POST", "/_flush", seconds=60)


class Scripted:
    """A host with the next answers: a status, or a failure."""

    def __init__(self, *answers: int | Unanswered) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    def ask(self, question: Question, /) -> HttpAnswer:
        """The next answer; the last one is repeated."""
        self.asked.append(question.target)
        following = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(following, Unanswered):
            raise following
        return HttpAnswer(following, "application/json", b"{}")


def refused() -> Unanswered:
    return Unanswered(ConnectionRefusedError(), "a")


def late() -> Unanswered:
    return Unanswered(TimeoutError(), "a", late=True)


def tls(text: str) -> Unanswered:
    return Unanswered(OSError(text), "a", tls=True)


@pytest.mark.parametrize("first", [503, refused()])
def test_a_host_that_fails_is_asked_last_from_then_on(first: int | Unanswered) -> None:
    away, there = Scripted(first), Scripted(200)
    hosts = Hosts([away, there])
    assert [hosts.ask(LOOK).status for _time in range(3)] == [200] * 3
    assert (len(away.asked), len(there.asked)) == (1, 3)


def test_each_host_is_asked_once_and_then_the_one_that_has_answered_last() -> None:
    every = [Scripted(200), Scripted(refused()), Scripted(200)]
    hosts = Hosts(every)
    for _time in range(5):
        assert hosts.ask(LOOK).status == 200
    assert [len(each.asked) for each in every] == [1, 1, 4]


def test_a_request_that_is_sent_once_goes_to_the_host_that_has_answered_last() -> None:
    there, unknown = Scripted(200), Scripted(refused())
    hosts = Hosts([there, unknown])
    hosts.ask(LOOK)
    assert hosts.ask(ONCE).status == 200
    assert unknown.asked == []


def test_a_silent_host_may_have_taken_the_request_so_no_other_gets_it() -> None:
    silent, there = Scripted(late()), Scripted(200)
    hosts = Hosts([silent, there])
    with pytest.raises(Unanswered):
        hosts.ask(LOOK)
    assert there.asked == []
    assert hosts.ask(LOOK).status == 200
    assert len(silent.asked) == 1


@pytest.mark.parametrize(("count", "attempts"), [(1, 3), (2, 3), (5, 6)])
def test_each_host_is_asked_and_one_of_them_again(count: int, attempts: int) -> None:
    every = [Scripted(503) for _each in range(count)]
    assert Hosts(every).ask(LOOK).status == 503
    assert sum(len(each.asked) for each in every) == attempts
    every = [Scripted(refused()) for _each in range(count)]
    with pytest.raises(Unanswered):
        Hosts(every).ask(LOOK)
    assert sum(len(each.asked) for each in every) == attempts


@pytest.mark.parametrize("answer", [503, 200, refused()])
def test_a_request_with_a_time_of_its_own_is_sent_once(answer: int | Unanswered) -> None:
    every = [Scripted(answer), Scripted(200)]
    try:
        Hosts(every).ask(ONCE)
    except Unanswered:
        assert isinstance(answer, Unanswered)
    assert [len(each.asked) for each in every] == [1, 0]


def test_a_request_that_is_sent_once_goes_to_the_address_that_answers() -> None:
    before, after = Scripted(refused()), Scripted(200)
    assert TwoAddresses([before, after]).ask(ONCE).status == 200
    assert (before.asked, after.asked) == ([LOCAL], [LOCAL, "/_flush"])
    both = [Scripted(401), Scripted(502)]
    assert TwoAddresses(both).ask(ONCE).status == 401
    assert [each.asked for each in both] == [[LOCAL], [LOCAL]]


@pytest.mark.parametrize(
    ("before", "after", "most"),
    [
        (refused(), tls("certificate verify failed"), "certificate verify failed"),
        (tls("certificate verify failed"), 401, "certificate verify failed"),
        (tls("wrong version number"), 503, 503),
        (refused(), 401, 401),
        (tls("wrong version number"), refused(), ""),
    ],
)
def test_the_failure_that_says_most_is_given(
    before: int | Unanswered, after: int | Unanswered, most: int | str
) -> None:
    for pair in ([before, after], [after, before]):
        try:
            found: int | str = TwoAddresses([Scripted(each) for each in pair]).ask(LOOK).status
        except Unanswered as error:
            found = str(error)
        assert found == most


def test_of_two_addresses_a_silent_one_ends_the_request_and_an_answer_is_one() -> None:
    for first in (late(), 404):
        other = Scripted(200)
        both = TwoAddresses([Scripted(first), other])
        if isinstance(first, int):
            assert both.ask(LOOK).status == first
        else:
            with pytest.raises(Unanswered):
                both.ask(LOOK)
        assert other.asked == []
