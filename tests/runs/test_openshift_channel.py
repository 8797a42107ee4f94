"""A channel that a run sets, and that something else sets as well."""

from __future__ import annotations

from dataclasses import replace

from tests.runs.openshift import PLAYBOOK
from tests.runs.test_openshift import codes
from tests.runs.test_openshift_target import FEW, NEXT_MINOR, Reached, goes, with_origin
from tests.runs.world import World
from tests.sandbox.openshift.asking import GRAPH, NEXT, STABLE, history
from tests.sandbox.openshift.kinds import VERSION, VERSIONS
from tests.sandbox.web import Request


def test_a_channel_that_something_else_sets_back_is_named_as_the_cause(here: World) -> None:
    cluster = Reached(here, replace(FEW, graph=with_origin(GRAPH)))
    given, clock = cluster.agreed(target_version="4.18.3", upgrade_channel=NEXT), cluster.openshift.clock
    until = clock.now() + 120

    def put_back(request: Request) -> None:
        sets = request.method == "PATCH" and request.path == VERSIONS.path("", VERSION)
        if sets and cluster.openshift.version()["spec"]["channel"] == NEXT and clock.now() < until:
            cluster.openshift.faults.person_changes_channel(STABLE)

    here.calling.after = put_back
    ended = here.play(PLAYBOOK, given)
    here.calling.after = lambda _request: None
    goes(ended)
    assert (
        "something else sets its channel to stable-4.18 each time that this run sets it to stable-4.19" in ended.output
    )
    assert history(cluster.openshift)[0] == ("4.18.3", "Completed")
    assert cluster.openshift.version()["spec"]["channel"] == NEXT


def test_a_channel_that_was_set_back_once_and_then_stays_is_not_the_cause(here: World) -> None:
    cluster = Reached(here, NEXT_MINOR)
    given = cluster.agreed(target_version="4.19.0", upgrade_channel=NEXT, upgrade_member_timeout=600)
    sets = list[str]()

    def put_back_once(request: Request) -> None:
        if request.method == "PATCH" and request.path == VERSIONS.path("", VERSION):
            sets.append(cluster.openshift.version()["spec"]["channel"])
            if len(sets) == 1:
                cluster.openshift.faults.graph_fails()
                cluster.openshift.faults.person_changes_channel(STABLE)

    here.calling.after = put_back_once
    ended = here.play(PLAYBOOK, given)
    assert ended.code != 0
    assert sets == [NEXT, NEXT]
    assert "something else sets its channel" in ended.output
    assert codes(ended) == ["update_not_retrieved", "timed_out"]
