"""The version operator: updates by channel, risks, and the updates that it does not take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.sandbox.kubernetes.kinds import CONFIG_MAPS
from tests.sandbox.kubernetes.objects import Json, Refused, condition_of
from tests.sandbox.kubernetes.resources import Writing
from tests.sandbox.openshift.asking import GRAPH, NEXT, built, history, status, versions
from tests.sandbox.openshift.controllers.operators import version_of
from tests.sandbox.openshift.description import ConditionalEdge, Risk
from tests.sandbox.openshift.habits import KIND, Pace
from tests.sandbox.openshift.kinds import ACKS, ACKS_NAMESPACE, OPERATORS, VERSION, VERSIONS
from tests.sandbox.openshift.openshift import OpenShift
from tests.sandbox.openshift.registry import image_of

RISKY = replace(GRAPH, conditional=(ConditionalEdge("4.18.1", "4.18.2", (Risk("PodsHang"),)),))
GATE = "ack-4.18-kube-1.32-api-removals-in-4.19"


def condition(found: OpenShift, name: str) -> Json:
    return condition_of(found.version(), name)


def recommended(found: OpenShift, version: str = "4.18.2") -> Json:
    items = found.version()["status"]["conditionalUpdates"]
    conditions: list[Json] = next(each["conditions"] for each in items if each["release"]["version"] == version)
    return conditions[0]


def test_another_channel_has_other_updates() -> None:
    found = built(version="4.18.2")
    assert versions(found) == ["4.18.3"]
    found.write(VERSIONS, VERSION, {"channel": NEXT})
    assert versions(found) == ["4.18.3"]
    found.clock.advance(10)
    item = found.version()
    assert (versions(found), item["status"]["desired"]["channels"]) == (["4.19.0", "4.18.3"], ["stable-4.18", NEXT])
    assert item["status"]["observedGeneration"] == item["metadata"]["generation"] == 2


def test_an_update_that_is_only_checked_does_not_begin_until_its_mode_is_gone() -> None:
    found = built()
    checked = {"version": "4.18.2", "mode": "Preflight"}
    found.write(VERSIONS, VERSION, {"desiredUpdate": checked})
    found.clock.advance(600)
    assert found.version()["spec"]["desiredUpdate"] == checked
    assert history(found) == [("4.18.1", "Completed")]
    found.want("4.18.2")
    assert found.until(found.upgrade_done)
    with pytest.raises(Refused, match="Preflight"):
        found.write(VERSIONS, VERSION, {"desiredUpdate": {**checked, "mode": "Other"}})


def test_the_updates_of_the_channel_before_stay_until_the_next_answer() -> None:
    found = built(pace=Pace(graph=100), version="4.18.2")
    found.write(VERSIONS, VERSION, {"channel": NEXT})
    found.clock.advance(50)
    found.faults.operator_stays_degraded("etcd")
    found.clock.advance(10)
    assert (versions(found), found.version()["status"]["observedGeneration"]) == (["4.18.3"], 2)
    found.clock.advance(60)
    assert versions(found) == ["4.19.0", "4.18.3"]


def test_a_channel_without_the_present_version_has_no_updates() -> None:
    found = built()
    found.write(VERSIONS, VERSION, {"channel": NEXT})
    found.clock.advance(10)
    told = condition(found, "RetrievedUpdates")
    assert (told["status"], told["reason"], found.version()["status"]["availableUpdates"]) == (
        "False",
        "VersionNotFound",
        None,
    )


def test_without_a_channel_there_are_no_updates() -> None:
    found = built()
    found.write(VERSIONS, VERSION, {"channel": None})
    found.clock.advance(10)
    assert (condition(found, "RetrievedUpdates")["reason"], versions(found)) == ("NoChannel", [])


def test_an_update_with_a_risk_that_applies_takes_its_image() -> None:
    found = built(graph=RISKY)
    assert (versions(found), versions(found, "conditionalUpdates")) == (["4.18.3"], ["4.18.2"])
    assert (recommended(found)["status"], recommended(found)["reason"]) == ("False", "PodsHang")
    found.want("4.18.2")
    found.clock.advance(60)
    told = condition(found, "Invalid")
    assert told["message"].endswith("when image is empty the update must be an available update")
    assert history(found) == [("4.18.1", "Completed")]
    found.want("4.18.2", image_of("4.18.2"))
    found.clock.advance(60)
    assert status(found.version(), "Invalid") == ""
    assert found.version()["status"]["history"][0]["acceptedRisks"].startswith("Update from 4.18.1 to 4.18.2 is not")


@pytest.mark.parametrize(
    ("applies", "said"), [(False, ("True", "NotExposedToRisks")), (None, ("Unknown", "EvaluationFailed"))]
)
def test_a_risk_that_does_not_apply_leaves_an_update_available(applies: bool | None, said: tuple[str, str]) -> None:
    edge = ConditionalEdge("4.18.1", "4.18.2", (Risk("PodsHang", applies=applies),))
    found = built(graph=replace(GRAPH, conditional=(edge,)))
    assert (recommended(found)["status"], recommended(found)["reason"]) == said
    assert ("4.18.2" in versions(found)) == (applies is False)


def test_a_risk_is_evaluated_some_time_after_it_is_known() -> None:
    found = built(replace(KIND, evaluation=60.0), graph=RISKY)
    assert (recommended(found)["status"], recommended(found)["reason"]) == ("Unknown", "EvaluationFailed")
    found.clock.advance(60)
    assert recommended(found)["status"] == "False"


def test_an_unknown_image_is_refused_and_the_cluster_stays_as_it_is() -> None:
    found = built()
    found.want("4.18.9", image_of("4.18.9"))
    found.clock.advance(60)
    told = condition(found, "ReleaseAccepted")
    assert (told["status"], told["reason"]) == ("False", "RetrievePayload")
    assert (status(found.version(), "Progressing"), history(found)) == ("False", [("4.18.1", "Completed")])
    found.write(VERSIONS, VERSION, {"desiredUpdate": None})
    found.clock.advance(60)
    assert status(found.version(), "ReleaseAccepted") == "True"


def test_a_refusal_is_told_before_its_generation_and_stays_when_it_is_withdrawn() -> None:
    """As the operator of 4.13 does on a real API server."""
    found = built(replace(KIND, keeps_refusal=True))
    found.faults.release_unsigned("4.18.2")
    found.want("4.18.2")
    found.clock.advance(30)
    told = condition(found, "ReleaseAccepted")
    assert (told["status"], told["reason"], "cannot be verified" in told["message"]) == (
        "False",
        "RetrievePayload",
        True,
    )
    assert found.version()["status"]["observedGeneration"] == 1
    assert found.until(lambda: found.version()["status"]["observedGeneration"] == 2, 120)
    found.write(VERSIONS, VERSION, {"desiredUpdate": None})
    found.clock.advance(300)
    assert (status(found.version(), "ReleaseAccepted"), found.version()["status"]["observedGeneration"]) == ("False", 3)
    found.want("4.18.3")
    assert found.until(lambda: history(found)[0] == ("4.18.3", "Completed"))
    assert status(found.version(), "ReleaseAccepted") == "True"


def test_an_image_of_another_version_is_refused() -> None:
    found = built()
    found.want("4.18.3", image_of("4.18.2"))
    found.clock.advance(60)
    assert condition(found, "ReleaseAccepted")["reason"] == "VerifyPayloadVersion"


@pytest.mark.parametrize(
    ("version", "reason"),
    [("4.20.0", "MultipleMinorVersionsUpdate"), ("4.17.9", "LowDesiredVersion")],
)
def test_a_skipped_minor_version_and_an_older_one_are_refused_unless_forced(version: str, reason: str) -> None:
    graph = replace(GRAPH, releases=(*GRAPH.releases, replace(GRAPH.releases[0], version=version)))
    found = built(graph=graph)
    found.want(version, image_of(version))
    found.clock.advance(60)
    told = condition(found, "ReleaseAccepted")
    assert (told["reason"], reason in told["message"]) == ("PreconditionChecks", True)
    found.want(version, image_of(version), force=True)
    assert found.until(lambda: history(found)[0] == (version, "Partial"), 300)
    assert "Forced through" in found.version()["status"]["history"][0]["acceptedRisks"]


def test_a_gate_without_its_acknowledgement_stops_minor_updates_alone() -> None:
    found = built(version="4.18.2", channel=NEXT, gates={GATE: "APIs are removed.", "ack-4.17-old": "Of the past."})
    told = condition(found, "Upgradeable")
    assert (told["status"], told["reason"], told["message"]) == ("False", f"AdminAck-{GATE}", "APIs are removed.")
    found.want("4.19.0")
    found.clock.advance(60)
    assert condition(found, "ReleaseAccepted")["reason"] == "PreconditionChecks"
    found.resources.change(
        CONFIG_MAPS, ACKS_NAMESPACE, ACKS, lambda item: item.update(data={GATE: "true"}), Writing("kubectl")
    )
    # A refused update is looked at again by itself.
    assert found.until(lambda: history(found)[0] == ("4.19.0", "Partial"), 600)
    assert condition(found, "Upgradeable")["reason"] == "ClusterVersionUpdating"


def test_an_operator_against_minor_updates_does_not_stop_a_patch() -> None:
    found = built()
    found.faults.operator_not_upgradeable("etcd")
    found.write(VERSIONS, VERSION, {"overrides": [_override()]})
    found.clock.advance(10)
    told = condition(found, "Upgradeable")
    assert told["reason"] == "MultipleReasons"
    assert "a setting is not supported any more" in told["message"]
    found.want("4.18.2")
    assert found.until(lambda: history(found)[0] == ("4.18.2", "Partial"), 300)


def _override() -> Json:
    place = {"group": "apps", "kind": "Deployment", "namespace": "openshift-etcd-operator", "name": "etcd-operator"}
    return {**place, "unmanaged": True}


def test_operators_are_upgraded_one_after_another_before_the_pools() -> None:
    found = built()
    seen: list[str] = []
    for name in found.described.operators:
        found.faults.when(OPERATORS, _has_reached(name, "4.18.2"), _noted(name, seen))
    found.want("4.18.2")
    assert found.until(found.upgrade_done)
    assert seen == [*found.described.operators]


def _has_reached(name: str, version: str) -> Callable[[Json], bool]:
    return lambda item: bool(item["metadata"]["name"] == name and version_of(item) == version)


def _noted(name: str, seen: list[str]) -> Callable[[], None]:
    return lambda: seen.append(name)


def test_a_minor_upgrade_and_then_its_updates() -> None:
    found = built(version="4.18.2", channel=NEXT)
    found.want("4.19.0")
    assert found.until(found.upgrade_done)
    found.clock.advance(200)
    assert (history(found)[0], versions(found)) == (("4.19.0", "Completed"), [])


def test_another_target_in_the_middle_ends_the_first_as_partial() -> None:
    found = built()
    found.want("4.18.2")
    assert found.until(lambda: history(found)[0] == ("4.18.2", "Partial"))
    found.clock.advance(90)
    found.want("4.18.3")
    assert found.until(found.upgrade_done)
    assert history(found) == [("4.18.3", "Completed"), ("4.18.2", "Partial"), ("4.18.1", "Completed")]
    assert found.version()["status"]["history"][1]["completionTime"] is not None


def test_the_definitions_judge_what_is_written() -> None:
    found = built()
    with pytest.raises(Refused, match="unknown field"):
        found.write(VERSIONS, VERSION, {"desiredVersion": "4.18.2"})
    with pytest.raises(Refused, match="must be of type string"):
        found.write(VERSIONS, VERSION, {"channel": 4})
