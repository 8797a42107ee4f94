"""The settings of a run are put back whatever becomes of its undo, or each is named with its request."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal, Unreachable, refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome, Task
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import shard_allocation
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.act.allocation import carry_out
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.act.settings_change import shown
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.cluster import read_settings
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.settings import (
    ENABLE,
    EXCLUDE,
    REBALANCE,
    RECOVERIES,
    RECOVERY_BYTES,
    UNDO,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.servers import Servers

LIMITS: dict[str, Any] = {"recoveries": 10, "recovery_bytes": "200mb", "rebalance": "none"}
WAS: dict[str, dict[str, Any]] = {"persistent": {RECOVERIES: "3", EXCLUDE: ["old"]}, "transient": {REBALANCE: "all"}}
IP = "cluster.routing.allocation.exclude._ip"


class Guarded:
    """A guard that lets nothing be done, as with a token that has expired."""

    def __init__(self, code: str) -> None:
        self.code = code

    def before_look(self, doing: str, stoppable: bool) -> None:
        raise refusal(self.code, f"The API did not accept the credentials ({doing}, {stoppable}).", "Renew the token.")

    def before_act(self) -> None:
        self.before_look("", stoppable=False)


def do(client: Servers, state: str, guard: Any = None, *, check: bool = False, **params: Any) -> Outcome:
    given = shard_allocation.CONTRACT.arguments(
        {}, state=state, lock={"run": "night"}, wait=False, wait_sleep=1, **{**LIMITS, **params}
    )
    return carry_out(Task(params=given, guard=guard, check_mode=check), client)  # type: ignore[arg-type]


def begun() -> tuple[Servers, dict[str, Any]]:
    """A cluster in which a batch of a run is away, and the settings of before as results show them."""
    client = Servers(settings=deepcopy(WAS))
    before = dict(shown(read_settings(client)))  # type: ignore[arg-type]
    do(client, "prepared")
    do(client, "drained", batch=["a"])
    do(client, "restricted", batch=["a"])
    return client, before


def codes(outcome: Outcome) -> list[str]:
    return sorted(reason.code for reason in outcome.verdict.reasons)


def refused_by(client: Servers, **params: Any) -> list[str]:
    with pytest.raises(Refusal) as caught:
        do(client, "restored", **params)
    return [reason.sentence() for reason in caught.value.verdict.reasons]


@pytest.mark.parametrize("lost", ["all", "a part"])
def test_what_a_run_has_changed_is_put_back_although_the_undo_is_gone(lost: str) -> None:
    client, before = begun()
    if lost == "all":
        del client.settings["persistent"][UNDO]
    else:
        # As an older state of the cluster would have it.
        older = Servers(settings=deepcopy(WAS))
        do(older, "prepared")
        client.settings["persistent"][UNDO] = older.settings["persistent"][UNDO]
    client.settings["persistent"][EXCLUDE] = "old,a,theirs"
    done = do(client, "restored", before=before, batch=["a", "b", "c"])
    assert client.settings == {
        "persistent": {RECOVERIES: "3", EXCLUDE: ["old", "theirs"]},
        "transient": {REBALANCE: "all"},
    }
    assert set(codes(done)) == {"put_back_without_undo"}
    assert done.verdict.passed
    assert done.changed
    again = do(client, "restored", before=before, batch=["a", "b", "c"])
    assert (codes(again), again.changed) == ([], False)


def test_what_others_have_changed_and_what_was_so_before_is_left() -> None:
    client = Servers(settings={"persistent": {ENABLE: "primaries", RECOVERIES: "10"}, "transient": {}})
    before = {f"persistent {ENABLE}": "primaries", f"persistent {RECOVERIES}": "10"}
    client.settings["persistent"] |= {REBALANCE: "primaries", EXCLUDE: "theirs", IP: "10.0.0.1"}
    then = deepcopy(client.settings)
    done = do(client, "restored", before=before, batch=["a"])
    assert (codes(done), done.changed, client.settings) == ([], False, then)


def test_an_undo_of_garbage_is_refused_with_the_settings_and_the_request_for_each() -> None:
    client, before = begun()
    client.settings["persistent"][UNDO] = "{"
    then = deepcopy(client.settings)
    ways: list[dict[str, Any]] = [{"before": before, "batch": ["a"]}, {"reset": []}, {}]
    for params in ways:
        said = refused_by(client, **params)
        assert "holds an undo that cannot be read" in said[0]
        for name in (ENABLE, EXCLUDE, RECOVERIES, RECOVERY_BYTES, REBALANCE):
            (one,) = [each for each in said if f"setting {name} stays" in each]
            assert "PUT _cluster/settings {" in one
            assert f'"{UNDO}": null' in one
            assert ("before the run" in one) is ("before" in params)
        assert client.settings == then


@pytest.mark.parametrize("undo", ["{", "null", "[]", None])
def test_settle_resets_what_a_person_consents_to_and_names_the_rest(undo: str | None) -> None:
    client, _before = begun()
    if undo is None:
        del client.settings["persistent"][UNDO]
    else:
        client.settings["persistent"][UNDO] = undo
    wanted = [ENABLE, REBALANCE, *([UNDO] if undo else [])]
    done = do(client, "restored", reset=wanted)
    assert set(codes(done)) == {"looks_left_over"}
    assert {name for name in (RECOVERIES, RECOVERY_BYTES, EXCLUDE) if name in str(done.verdict)} == {
        *(RECOVERIES, RECOVERY_BYTES, EXCLUDE)
    }
    assert client.settings["transient"] == {}
    assert not {ENABLE, UNDO}.intersection(client.settings["persistent"])
    assert do(client, "restored", reset=wanted).changed is False


def test_a_check_names_what_would_be_reset_and_the_rest() -> None:
    client, _before = begun()
    del client.settings["persistent"][UNDO]
    then = deepcopy(client.settings)
    done = do(client, "restored", check=True, reset=[ENABLE])
    assert (done.changed, set(codes(done)), client.settings == then) == (True, {"looks_left_over"}, True)
    assert ENABLE not in str(done.verdict)
    # Diff mode shows it.
    assert f"persistent {ENABLE}" in done.before.keys() - (done.after or {}).keys()


def test_nothing_else_than_settings_of_runs_is_reset() -> None:
    client = Servers(settings={"persistent": {"cluster.blocks.read_only": "true"}, "transient": {}})
    (said,) = refused_by(client, reset=["cluster.blocks.read_only"])
    assert "No run changes cluster.blocks.read_only" in said


def test_a_token_that_expires_leaves_no_setting_unnamed() -> None:
    client, before = begun()
    then = deepcopy(client.settings)
    client.settings["persistent"][RECOVERY_BYTES] = "1gb"
    with pytest.raises(Refusal) as caught:
        do(client, "restored", Guarded("kubernetes_credentials"), before=before, batch=["a"])
    said = str(caught.value)
    assert said.startswith("The API did not accept the credentials")
    assert f"The persistent setting {ENABLE} stays 'primaries'. It was not set before the run." in said
    assert f'PUT _cluster/settings {{"persistent": {{"{RECOVERIES}": "3"}}}}' in said
    assert f'PUT _cluster/settings {{"persistent": {{"{EXCLUDE}": ["old"]}}}}' in said
    assert RECOVERY_BYTES not in said, "another has changed it"
    client.settings["persistent"][RECOVERY_BYTES] = "200mb"
    assert client.settings == then
    with pytest.raises(Refusal) as caught:
        do(client, "restored", Guarded("lock_lost"))
    assert ENABLE not in str(caught.value), "another run is at work, and puts it back"


def test_where_the_settings_cannot_be_read_the_failure_is_as_it_was() -> None:
    client, before = begun()
    client.asked.clear()
    client.cut_off = 0
    with pytest.raises(Unreachable) as caught:
        do(client, "restored", before=before)
    assert ENABLE not in str(caught.value)


def test_members_without_a_vote_are_named() -> None:
    client, _before = begun()
    text = client.settings["persistent"][UNDO]
    client.settings["persistent"][UNDO] = text.replace('"changes"', '"voting_exclusions":["a"],"changes"')
    with pytest.raises(Refusal, match=r"may have excluded a from voting.*DELETE _cluster/voting_config_exclusions"):
        do(client, "restored", Guarded("kubernetes_credentials"))


def test_an_exclusion_written_again_looks_left_over() -> None:
    client = Servers(settings={"persistent": {IP: "10.0.0.1,10.0.0.1"}, "transient": {}})
    assert codes(do(client, "restored", reset=[])) == ["looks_left_over"]
    done = do(client, "restored", before={f"persistent {IP}": "10.0.0.1"}, batch=[])
    assert client.settings["persistent"] == {IP: "10.0.0.1"}
    assert codes(done) == ["put_back_without_undo"]
