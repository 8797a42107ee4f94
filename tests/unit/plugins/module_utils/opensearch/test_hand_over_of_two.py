# SPDX-License-Identifier: GPL-3.0-or-later
"""Of two members that can be elected one votes: the vote goes over with the office, or it takes consent."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State, Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.policy import Policy
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    coordination,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.hand_over_case import (
    Turn,
    changing,
    codes,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.voters import EXCLUSIONS, Voters


def test_of_two_the_vote_goes_over_with_the_office_and_stays_there() -> None:
    servers = Voters(managers="ab")
    turn = Turn(servers, "a")
    assert servers.votes == ["a"]
    assert turn.made()
    # The exclusion is over, and the one that goes has no vote all the same: the rule of the servers (Reconfigurator).
    assert (servers.elected, servers.excluded, servers.votes) == ("b", [], ["b"])
    assert servers.settings == Voters().settings
    assert turn.lines == ["a has handed over to b"]
    assert turn.proof() == Verdict()
    servers.managers = "b"
    servers.order("DELETE", EXCLUSIONS)
    servers.managers = "ab"
    assert Turn(servers, "a").proof() == Verdict(), "back, it may go again: it has no vote"


@pytest.mark.parametrize(
    ("consents", "said"), [(False, ("no_majority", State.REFUSED)), (True, ("elected_manager_stays", State.PASSED))]
)
def test_where_the_other_of_two_does_not_take_over_only_consent_lets_it_go(
    consents: bool, said: tuple[str, State]
) -> None:
    servers = Voters(managers="ab", stubborn=True)
    servers.votes = ["a"]
    servers.state["metadata"]["cluster_coordination"] = coordination("a")
    turn = Turn(servers, "a", policy=Policy(allow_quorum_loss=consents, hands_over=True))
    assert turn.made()
    assert servers.excluded == []
    verdict = turn.proof()
    assert (said in codes(verdict), verdict.state) == (True, said[1])
    assert any("no other member was elected within 30 s" in reason.message for reason in verdict.reasons)


@pytest.mark.parametrize("managers", ["ab", "abc"])
def test_where_it_is_turned_off_nothing_is_excluded(managers: str) -> None:
    servers = Voters(managers=managers)
    turn = Turn(servers, "a", policy=Policy())
    assert [code for code, _state in codes(turn.proof())] == (["no_majority"] if managers == "ab" else [])
    assert not turn.hand_over.make("a")
    assert changing(servers) == []
