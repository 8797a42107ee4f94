"""The voting configuration, and the election."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.quorum import successors

from tests.sandbox.opensearch.model import COMBINED
from tests.sandbox.opensearch.rooms import FROM, THREE, TO, Room
from tests.sandbox.opensearch.voting import reconfigured

TWO = {f"m-{number}": COMBINED for number in range(2)}
FIVE = {f"m-{number}": COMBINED for number in range(5)}
EXCLUSIONS = "/_cluster/voting_config_exclusions"
PATIENT = "cluster_manager_timeout=1s"


@pytest.mark.parametrize(
    ("live", "retired", "current", "wanted"),
    [
        ("abc", "", "abc", "abc"),
        ("ab", "", "abc", "abc"),
        ("abcd", "", "abc", "abc"),
        ("abcd", "", "abcde", "abc"),
        ("abcde", "", "abc", "abcde"),
        ("ab", "", "a", "a"),
        ("abc", "b", "abc", "ac"),
        ("ac", "b", "ac", "a"),
        ("ab", "a", "a", "b"),
    ],
)
def test_an_odd_number_votes_the_elected_one_before_others(live: str, retired: str, current: str, wanted: str) -> None:
    assert reconfigured(live, retired, "a", frozenset(current), shrink=True) == frozenset(wanted)


def test_without_shrinking_those_that_are_away_keep_their_vote() -> None:
    assert reconfigured("abc", "", "a", frozenset("abcde"), shrink=False) == frozenset("abcde")


def test_three_found_a_cluster_and_all_vote() -> None:
    room = Room()
    assert room.voters() == set(THREE)
    assert room.elected() in THREE


def test_a_minority_founds_nothing() -> None:
    room = Room()
    for name in THREE:
        room.cluster.kill(name)
    fresh = Room()
    for name in ("m-1", "m-2"):
        fresh.cluster.kill(name)
    fresh.clock.advance(1)
    assert fresh.elected() == ""


def test_when_the_elected_manager_dies_another_one_is_elected_and_nobody_answers_meanwhile() -> None:
    room = Room()
    elected, term = room.elected(), room.cluster.state.term
    room.cluster.kill(elected)
    refused = room.ask("GET", "/_cluster/health?timeout=100ms")
    assert (refused.status, refused.body["error"]["type"]) == (503, "cluster_manager_not_discovered_exception")
    found = room.ask("GET", "/_cluster/health?wait_for_nodes=2")
    assert (found.status, found.body["number_of_nodes"]) == (200, 2)
    assert room.elected() not in {"", elected}
    assert room.cluster.state.term == term + 1


def test_without_a_majority_nobody_is_elected_until_one_is_back() -> None:
    room = Room()
    for name in ("m-1", "m-2"):
        room.cluster.stop(name)
    room.clock.advance(5)
    assert room.elected() == ""
    assert room.ask("GET", f"/_cluster/state/version?{PATIENT}").status == 503
    assert room.ask("GET", "/").status == 200
    assert room.ask("GET", "/_cluster/health?local=true").body["discovered_cluster_manager"] is False
    with pytest.raises(Unreachable):
        room.state()
    room.start(["m-1"])
    assert room.elected() in {"m-0", "m-1"}


def test_an_excluded_manager_hands_over_and_votes_again_after_the_exclusion() -> None:
    room = Room()
    elected = room.elected()
    assert room.ask("POST", f"{EXCLUSIONS}?node_names={elected}&timeout=10s").status == 200
    assert room.elected() not in {"", elected}
    room.clock.advance(1)
    assert room.voters() == {room.elected()}, "of the two that are left one votes"
    assert room.state().voting.exclusions == {elected}
    assert room.ask("DELETE", f"{EXCLUSIONS}?wait_for_removal=false").status == 200
    room.clock.advance(1)
    assert room.voters() == set(THREE)
    assert room.elected() != elected
    assert room.state().voting.exclusions == frozenset()


def test_of_two_the_vote_goes_over_with_the_office_for_good() -> None:
    room = Room(TWO)
    elected = room.elected()
    assert room.voters() == {elected}
    room.ask("POST", f"{EXCLUSIONS}?node_names={elected}")
    room.ask("DELETE", f"{EXCLUSIONS}?wait_for_removal=false")
    room.clock.advance(1)
    other = room.elected()
    assert other != elected
    assert room.voters() == {other}
    room.cluster.stop(elected)
    room.clock.advance(1)
    assert room.elected() == other


def test_of_two_the_loss_of_the_one_that_votes_stops_the_cluster_until_it_is_back() -> None:
    room = Room(TWO)
    elected = room.elected()
    room.cluster.kill(elected)
    room.clock.advance(20)
    assert room.elected() == ""
    room.start([elected])
    assert room.elected() in TWO, "it may as well vote for the other one"


def test_of_two_the_older_one_leads_if_it_votes_and_the_newer_one_would_not_let_it_in() -> None:
    room = Room(TWO)
    elected = room.elected()
    (other,) = {*TWO} - {elected}
    room.cluster.stop(other)
    room.start([other], TO)
    room.cluster.kill(elected)
    room.start([elected], FROM)
    assert room.elected() == elected
    assert len(room.state().members) == 2


def test_a_voter_whose_disk_is_gone_is_missed_for_ever() -> None:
    room = Room(TWO)
    elected = room.elected()
    room.cluster.kill(elected)
    room.start([elected], disk="new")
    assert room.elected() == ""


def test_five_shrink_to_three_and_two_more_may_be_too_many() -> None:
    room = Room(FIVE)
    others = [name for name in FIVE if name != room.elected()]
    room.cluster.stop(others[0])
    room.clock.advance(1)
    assert len(room.voters()) == 3
    for name in sorted(room.voters() - {room.elected()}):
        room.cluster.kill(name)
    room.clock.advance(5)
    assert room.elected() == ""


def test_removing_exclusions_waits_for_those_that_are_excluded_to_leave() -> None:
    room = Room()
    other = next(name for name in THREE if name != room.elected())
    room.ask("POST", f"{EXCLUSIONS}?node_names={other}")
    refused = room.ask("DELETE", EXCLUSIONS)
    assert (refused.status, refused.body["error"]["type"]) == (500, "timeout_exception")
    room.cluster.stop(other)
    assert room.ask("DELETE", EXCLUSIONS).status == 200
    assert room.state().voting.exclusions == frozenset()


def test_somebody_who_is_not_there_is_excluded_by_name_and_more_than_ten_are_not() -> None:
    room = Room()
    assert room.ask("POST", f"{EXCLUSIONS}?node_names=nobody").status == 200
    assert room.state().voting.absent == {"nobody"}
    more = ",".join(f"n{number}" for number in range(10))
    assert "would exceed the maximum of [10]" in room.ask("POST", f"{EXCLUSIONS}?node_names={more}").text
    assert room.ask("POST", EXCLUSIONS).status == 400


def test_after_a_full_restart_the_cluster_is_the_same_and_nothing_is_lost() -> None:
    room = Room()
    room.index(replicas=2)
    room.ask("PUT", "/logs/_doc/1", {"a": 1})
    uuid = room.state().uuid
    for name in THREE:
        room.cluster.kill(name)
    room.clock.advance(60)
    room.start(THREE)
    room.clock.advance(5)
    assert room.state().uuid == uuid
    assert room.health() == "green"
    assert room.ask("GET", "/logs/_doc/1").body["_source"] == {"a": 1}


VOTING_ONLY = ("cluster_manager", "voting_only")
ELASTIC = "8.19.4"


def test_with_voters_alone_that_are_never_elected_nobody_is() -> None:
    room = Room({"m-0": COMBINED, "v-1": VOTING_ONLY, "v-2": VOTING_ONLY}, ELASTIC)
    assert (room.elected(), room.voters()) == ("m-0", {"m-0", "v-1", "v-2"})
    room.cluster.stop("m-0")
    room.clock.advance(5)
    assert room.elected() == ""
    room.start(["m-0"], ELASTIC)
    assert room.elected() == "m-0"


def test_a_member_without_a_vote_is_elected_before_one_that_only_votes() -> None:
    """Of an even number one does not vote; here it is the only other one that can be elected."""
    layout = {"m-0": COMBINED, "v-1": VOTING_ONLY, "v-2": VOTING_ONLY, "m-3": COMBINED}
    room = Room(layout, ELASTIC)
    elected = room.elected()
    state = room.state()
    heirs = successors(state, state.ids([elected]))
    assert {state.members[each].name for each in heirs} == {"m-0", "m-3"} - {elected}
    room.cluster.stop(elected)
    room.clock.advance(5)
    assert {room.elected()} == {"m-0", "m-3"} - {elected}
