"""The target of an upgrade of OpenShift: another channel, the update graph, chains of versions, and images."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.runs.openshift import PLAYBOOK
from tests.runs.test_openshift import TARGET, CalledOpenShift, codes
from tests.runs.turns import Killed
from tests.runs.world import World
from tests.sandbox.openshift.asking import FAR, GRAPH, NEXT, SMALL, STABLE, history, pool
from tests.sandbox.openshift.description import ConditionalEdge, Described, Graph, Risk
from tests.sandbox.openshift.habits import KIND, Habits
from tests.sandbox.openshift.kinds import CURRENT, VERSION, VERSIONS, annotations_of, rendered
from tests.sandbox.openshift.registry import HOST, LABEL, STORE, image_for_several, image_of
from tests.sandbox.openshift.update_service import URL
from tests.sandbox.web import Request
from tests.scenarios.playbook import Played

SERVICE = URL.split("/")[2]
FEW = replace(SMALL, pools=(pool("master"), pool("worker", 2)))
NEXT_MINOR = replace(FEW, version="4.18.2")
RISK = Risk("SlowPods")
WELL = "4 cluster operators, all available and not degraded"
"""The line of each plan about the operators."""


class Reached(CalledOpenShift):
    """An OpenShift whose update service and registry can be asked from the controller, too."""

    def __init__(self, here: World, described: Described = FEW, habits: Habits = KIND) -> None:
        super().__init__(here, described, habits)
        here.calling.serve(self.openshift.updates, SERVICE, 443)
        for host in (HOST, STORE):
            here.calling.serve(self.openshift.registry, host, 443)

    def is_at(self, version: str, channel: str = STABLE) -> None:
        """Fails unless all is on a version, wanted once, the channel is this one, and nothing is left behind."""
        assert history(self.openshift)[0] == (version, "Completed")
        assert self.openshift.version()["spec"]["channel"] == channel
        for each in self.described.pools:
            for node in each.nodes:
                assert annotations_of(self.openshift.node(node.name))[CURRENT] == rendered(each.name, version)
        assert self.openshift.observer.breaches == []
        assert self.openshift.observer.leftovers() == []
        assert len(self.openshift.observer.writes_of("spec.desiredUpdate")) == 1
        assert len(self.openshift.observer.writes_of("spec.channel")) == int(channel != self.described.channel)

    def refused(self, *expected: str, **more: Any) -> Played:
        """A plan that is refused with these codes and changes nothing."""
        planned = self.plan(**more)
        assert planned.code != 0, planned.output
        assert codes(planned) == [*expected], planned.output
        return planned


def goes(ended: Played) -> Played:
    """The run, which has succeeded."""
    assert ended.code == 0, ended.output
    return ended


@pytest.mark.parametrize("habits", [KIND, Habits()], ids=["kind", "worst"])
def test_another_channel_is_set_before_the_update(here: World, habits: Habits) -> None:
    cluster = Reached(here, replace(FEW, graph=with_origin(GRAPH)), habits)
    planned = goes(cluster.plan(target_version="4.18.3", upgrade_channel=NEXT))
    assert "stays: channel stable-4.19, desired update" in planned.output
    assert "The update graph offers 4.18.3 from 4.18.1 in channel stable-4.19." in planned.output
    assert WELL in planned.output
    goes(cluster.upgrade(target_version="4.18.3", upgrade_channel=NEXT))
    cluster.is_at("4.18.3", NEXT)


def with_origin(graph: Graph) -> Graph:
    """The graph, whose 4.18.1 is in both channels."""
    first, *others = graph.releases
    return replace(graph, releases=(replace(first, channels=(STABLE, NEXT)), *others))


@pytest.mark.parametrize("habits", [KIND, Habits()], ids=["kind", "worst"])
def test_a_next_minor_version_by_an_edge_of_the_graph(here: World, habits: Habits) -> None:
    cluster = Reached(here, NEXT_MINOR, habits)
    asked = len(cluster.openshift.updates.asked)
    planned = goes(cluster.plan(target_version="4.19.0", upgrade_channel=NEXT))
    assert "4.18.2 → 4.19.0" in planned.output
    ours = cluster.openshift.updates.asked[asked]
    cluster_id = cluster.openshift.version()["spec"]["clusterID"]
    assert ours.query == {"arch": "amd64", "channel": NEXT, "id": cluster_id, "version": "4.18.2"}
    assert ours.headers["Accept"] == "application/json"
    goes(cluster.upgrade(target_version="4.19.0", upgrade_channel=NEXT))
    cluster.is_at("4.19.0", NEXT)


def test_the_digest_of_the_plan_covers_the_channel(here: World) -> None:
    cluster = Reached(here, NEXT_MINOR)
    agreed = cluster.agreed(target_version="4.18.3", upgrade_channel=NEXT)
    assert cluster.agreed(target_version="4.18.3")["upgrade_confirm"] != agreed["upgrade_confirm"]


def test_a_conditional_edge_takes_consent_to_each_of_its_risks(here: World) -> None:
    edge = ConditionalEdge("4.18.2", "4.19.0", (RISK, Risk("NoDNS", applies=False)))
    graph = replace(GRAPH, edges=(), conditional=(edge,))
    cluster = Reached(here, replace(NEXT_MINOR, graph=graph))
    more: dict[str, Any] = {"target_version": "4.19.0", "upgrade_channel": NEXT}
    said = cluster.refused("update_risk", **more)
    assert "has the risk SlowPods, which may apply to this cluster" in said.output
    assert WELL in said.output
    cluster.refused("update_risk", upgrade_accept_risks=["SlowPods"], **more)
    goes(cluster.upgrade(upgrade_accept_risks=["SlowPods", "NoDNS"], **more))
    cluster.is_at("4.19.0", NEXT)


@pytest.mark.parametrize(
    ("version", "more", "said"),
    [
        ("4.18.2", {"upgrade_channel": "stable-4.20"}, "The update graph has no release in channel stable-4.20"),
        ("4.18.2", {}, "Channel stable-4.18 offers no update from 4.18.2 to 4.19.0: it offers 4.18.3."),
        ("4.18.1", {"upgrade_channel": NEXT}, "Channel stable-4.19 does not have 4.18.1, the present version"),
    ],
)
def test_a_target_without_an_edge_is_refused(here: World, version: str, more: dict[str, str], said: str) -> None:
    cluster = Reached(here, replace(FEW, version=version))
    refused = cluster.refused("update_not_offered", target_version="4.19.0", **more)
    assert said in refused.output
    assert "such as stable-4.19" in refused.output


@pytest.mark.parametrize("target", ["4.19.0+x", "4.19.77"])
def test_the_channel_of_its_minor_version_names_what_there_is_for_a_target_that_it_lacks(
    here: World, target: str
) -> None:
    cluster = Reached(here, NEXT_MINOR)
    refused = cluster.refused("update_not_offered", target_version=target, upgrade_channel=NEXT)
    assert f"offers no update from 4.18.2 to {target}: it offers 4.19.0, 4.18.3. Give one of these" in refused.output


def test_a_graph_that_is_away_is_no_pass(here: World) -> None:
    cluster = Reached(here, NEXT_MINOR)
    cluster.openshift.faults.graph_unreachable()
    more = {"target_version": "4.19.0", "upgrade_channel": NEXT}
    away = cluster.refused("update_service_unreachable", "timed_out", **more)
    assert "The update service updates.openshift.test gives no answer" in away.output
    cluster.openshift.faults.graph_reachable()
    cluster.openshift.faults.graph_fails(404)
    cluster.refused("update_service_refuses", **more)
    cluster.openshift.faults.graph_reachable()
    goes(cluster.upgrade(**more))
    cluster.is_at("4.19.0", NEXT)


def test_a_graph_that_comes_back_in_time_is_waited_for(here: World) -> None:
    cluster = Reached(here, NEXT_MINOR)
    cluster.openshift.faults.graph_fails(503)
    cluster.openshift.clock.later(40, cluster.openshift.faults.graph_reachable)
    goes(cluster.plan(target_version="4.19.0", upgrade_channel=NEXT))


def test_an_update_service_that_nobody_has_named_is_asked_for(here: World) -> None:
    cluster = Reached(here, NEXT_MINOR)
    cluster.openshift.write(VERSIONS, VERSION, {"upstream": None})
    cluster.openshift.observer.writes.clear()
    more: dict[str, Any] = {"target_version": "4.19.0", "upgrade_channel": NEXT}
    unknown = cluster.refused("update_service_unknown", **more)
    assert "upgrade_update_service" in unknown.output
    goes(cluster.plan(upgrade_update_service={"url": URL}, **more))


def at_patch(here: World, number: int, then: Callable[[], object]) -> None:
    """Have something happen when the patch of the ClusterVersion of this number was made, before its answer."""
    patched = []

    def count(request: Request) -> None:
        ours = request.method == "PATCH" and request.path == VERSIONS.path("", VERSION)
        patched.extend([request.path] if ours else [])
        if ours and len(patched) == number:
            then()

    here.calling.after = count


def kill() -> None:
    """Kill the controller."""
    raise Killed


@pytest.mark.parametrize(
    "later", [120, pytest.param(0, marks=pytest.mark.soak), pytest.param(600, marks=pytest.mark.soak)]
)
@pytest.mark.parametrize(("number", "field"), [(1, "spec.channel"), (2, "spec.desiredUpdate")])
@pytest.mark.parametrize("habits", [KIND, Habits()], ids=["kind", "worst"])
def test_a_run_that_is_killed_behind_the_channel_or_the_update_goes_on(
    here: World, number: int, field: str, later: int, habits: Habits
) -> None:
    cluster = Reached(here, NEXT_MINOR, habits)
    given = cluster.agreed(target_version="4.19.0", upgrade_channel=NEXT)
    at_patch(here, number, kill)
    with pytest.raises(Killed):
        here.play(PLAYBOOK, given)
    here.calling.after = lambda _request: None
    assert cluster.openshift.observer.writes[-1].fields == (field,)
    # The lock of a killed run lapses, if the next one does not wait for that.
    cluster.openshift.clock.advance(later)
    goes(here.play(PLAYBOOK, given))
    cluster.is_at("4.19.0", NEXT)


@pytest.mark.parametrize("number", [9, 11, 12])
def test_a_run_that_is_killed_about_the_change_of_the_channel_goes_on(here: World, number: int) -> None:
    cluster = Reached(here, NEXT_MINOR, Habits())
    given = cluster.agreed(target_version="4.19.0", upgrade_channel=NEXT)
    assert here.killed_behind(number, given, PLAYBOOK) is None
    assert not cluster.openshift.observer.writes_of("spec.desiredUpdate")
    cluster.openshift.clock.advance(120)
    goes(here.play(PLAYBOOK, given))
    cluster.is_at("4.19.0", NEXT)


def test_updates_that_openshift_does_not_retrieve_end_the_run_with_open_pools(here: World) -> None:
    cluster = Reached(here, NEXT_MINOR)
    given = cluster.agreed(target_version="4.19.0", upgrade_channel=NEXT, upgrade_member_timeout=600)
    at_patch(here, 1, cluster.openshift.faults.graph_fails)
    ended = here.play(PLAYBOOK, given)
    assert ended.code != 0
    assert "OpenShift has not retrieved the update to 4.19.0 in channel stable-4.19 yet" in ended.output
    assert cluster.paused() == []
    assert not cluster.openshift.observer.writes_of("spec.desiredUpdate")
    here.calling.after = lambda _request: None
    cluster.openshift.faults.graph_reachable()
    goes(here.play(PLAYBOOK, given))
    cluster.is_at("4.19.0", NEXT)


def test_a_risk_that_appears_with_the_channel_stops_the_run_before_the_update(here: World) -> None:
    cluster = Reached(here, NEXT_MINOR)
    given = cluster.agreed(target_version="4.19.0", upgrade_channel=NEXT)

    def worsen() -> None:
        edge = ConditionalEdge("4.18.2", "4.19.0", (RISK,))
        cluster.openshift.updates.graph = replace(GRAPH, conditional=(edge,))

    at_patch(here, 1, worsen)
    ended = here.play(PLAYBOOK, given)
    assert ended.code != 0
    assert "has the risk SlowPods, which applies to this cluster" in ended.output
    assert not cluster.openshift.observer.writes_of("spec.desiredUpdate")
    assert cluster.paused() == []


def test_a_minor_version_that_would_be_skipped_names_the_chain(here: World) -> None:
    cluster = Reached(here, replace(NEXT_MINOR, graph=FAR))
    said = cluster.refused("minor_skipped", target_version="4.20.2").output
    assert "4.18.2 → 4.19.4 in stable-4.19 → 4.20.2 in stable-4.20." in said
    page = (Path(__file__).parents[2] / "docs" / "openshift.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```text\n( *From 4\.18\.2.*?)```", page, re.DOTALL)
    assert " ".join(shown.split()) in said
    cluster.openshift.faults.graph_unreachable()
    assert "gives no answer" in cluster.refused("minor_skipped", target_version="4.20.2").output


def by_image(image: str = image_of("4.18.2"), target: str | None = None, **more: Any) -> Any:
    """The variables for an image."""
    return {"target_version": target, "upgrade_release_image": image, **more}


@pytest.mark.parametrize("target", [None, "4.18.2"])
@pytest.mark.parametrize("image", [image_of("4.18.2"), image_for_several("4.18.2")], ids=["one", "several"])
def test_an_image_gives_the_version(here: World, target: str | None, image: str) -> None:
    graph = replace(GRAPH, releases=GRAPH.releases[:1] + GRAPH.releases[2:])
    cluster = Reached(here, replace(FEW, graph=graph))
    # The image is in no channel, and can be pulled.
    cluster.openshift.updates.graph = graph
    cluster.openshift.registry._versions = lambda: ["4.18.1", "4.18.2"]
    planned = goes(cluster.plan(**by_image(image, target)))
    assert "4.18.1 → 4.18.2" in planned.output
    assert "does not offer 4.18.2" in planned.output
    assert WELL in planned.output
    goes(cluster.upgrade(**by_image(image, target)))
    assert cluster.openshift.version()["spec"]["desiredUpdate"] == {"version": "4.18.2", "image": image}
    cluster.is_at("4.18.2")


@pytest.mark.parametrize("more", [{"force": True}, {"architecture": "Multi"}, {}], ids=["forced", "multi", "plain"])
def test_nothing_stays_of_the_update_before(here: World, more: dict[str, Any]) -> None:
    """A release that is not signed is not taken because the one before was forced."""
    cluster = Reached(here)
    image = {} if "architecture" in more else {"image": image_of("4.18.1")}
    cluster.openshift.write(VERSIONS, VERSION, {"desiredUpdate": {"version": "4.18.1", **image, **more}})
    cluster.openshift.clock.advance(300)
    cluster.openshift.faults.release_unsigned(TARGET)
    ended = cluster.upgrade()
    assert codes(ended)[:1] == ["release_not_accepted"], ended.output
    assert cluster.openshift.version()["spec"]["desiredUpdate"] == {"version": TARGET, "image": image_of(TARGET)}


@pytest.mark.parametrize("target", [None, "4.18.2"])
def test_a_run_by_an_image_that_is_killed_goes_on_without_the_registry(here: World, target: str | None) -> None:
    cluster = Reached(here)
    given = cluster.agreed(**by_image(target=target))
    at_patch(here, 1, kill)
    with pytest.raises(Killed):
        here.play(PLAYBOOK, given)
    here.calling.after = lambda _request: None
    cluster.openshift.faults.registry_unreachable()
    goes(here.play(PLAYBOOK, given))
    cluster.is_at("4.18.2")


@pytest.mark.parametrize(
    ("image", "target", "code", "said"),
    [
        (f"{HOST}/ocp/release:4.18.2-x86_64", None, "release_image_unusable", "names no release image by digest"),
        (image_of("4.18.2"), "4.18.3", "release_image_mismatch", "is of version 4.18.2, and target_version is 4.18.3"),
        (image_of("4.18.9"), None, "release_image_refused", "answers 404 for the manifest"),
        (image_of("4.18.9").replace("ocp/release", "ocp/other"), "4.18.2", "release_image_refused", "answers 404"),
        (
            image_for_several("4.18.2"),
            "4.18.2",
            "release_image_mismatch",
            "is not the one that channel stable-4.18 has",
        ),
    ],
)
def test_an_image_that_is_not_the_wanted_one_is_refused(
    here: World, image: str, target: str | None, code: str, said: str
) -> None:
    cluster = Reached(here)
    refused = cluster.plan(**by_image(image, target))
    assert code in codes(refused), refused.output
    assert said in refused.output


def configuration(labels: dict[str, str], architecture: str = "amd64") -> dict[str, Any]:
    """The configuration of an image."""
    return {"architecture": architecture, "os": "linux", "config": {"Labels": labels}}


@pytest.mark.parametrize("target", [None, "4.18.2"])
def test_an_image_without_a_version_is_no_release(here: World, target: str | None) -> None:
    cluster = Reached(here)
    image = cluster.openshift.registry.add(configuration({}))
    refused = cluster.plan(**by_image(image, target))
    assert "release_image_unlabelled" in codes(refused)


def test_an_image_for_another_architecture_is_refused(here: World) -> None:
    cluster = Reached(here)
    image = cluster.openshift.registry.add(configuration({LABEL: "4.18.2"}, "arm64"))
    refused = cluster.plan(**by_image(image))
    assert "is made for arm64, and the control plane is amd64." in refused.output


@pytest.mark.parametrize("of", ["manifest", "configuration"])
def test_a_content_that_was_changed_on_the_way_is_refused(here: World, of: str) -> None:
    cluster, image = Reached(here), image_of("4.18.2")
    if of == "manifest":
        cluster.openshift.registry.changed.add(image.partition("@")[2])
    else:
        cluster.openshift.registry.other_labels["4.18.2"] = "4.18.3"
    assert "gives another content" in cluster.refused("release_image_mismatch", **by_image(image)).output


def test_a_registry_that_is_away_or_private_is_no_pass(here: World) -> None:
    cluster = Reached(here)
    more = by_image()
    cluster.openshift.faults.registry_unreachable()
    cluster.refused("registry_unreachable", "timed_out", **more)
    cluster.openshift.faults.registry_reachable()
    cluster.openshift.registry.user = ("puller", "secret-of-puller")
    cluster.refused("release_image_refused", **more)
    allowed = goes(cluster.plan(upgrade_registry={"username": "puller", "password": "secret-of-puller"}, **more))
    assert "secret-of-puller" not in allowed.output


def test_an_image_that_openshift_does_not_accept_ends_the_run(here: World) -> None:
    cluster = Reached(here)
    image = cluster.openshift.registry.add(configuration({LABEL: "4.18.5"}))
    ended = cluster.upgrade(**by_image(image))
    assert ended.code != 0
    assert "OpenShift does not accept the release 4.18.5" in ended.output
    assert "Unable to download and prepare the update" in ended.output


def test_without_a_target_nothing_is_planned(here: World) -> None:
    cluster = Reached(here)
    said = cluster.refused("target_missing", target_version=None).output
    assert "No target is given: neither target_version nor upgrade_release_image." in said
    assert (
        "latest is not a version of OpenShift" in cluster.refused("version_unreadable", target_version="latest").output
    )
