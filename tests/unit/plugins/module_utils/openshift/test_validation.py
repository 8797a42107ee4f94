"""The paths from one version to another: which are refused, with what, and which take consent."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.release import Release
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State, Verdict, refused, waiting
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.conditions import StatusCondition
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.judge.validation import (
    is_next_minor,
    judge_target,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.release_image import (
    ImageReference,
    ReleaseImage,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.state import (
    AdminGate,
    ClusterVersion,
    HistoryEntry,
    Update,
    UpdateRisk,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.update_graph import UpdateGraph

from tests.unit.plugins.module_utils.openshift.seen import FALSE, NEW, OLD, openshift, target, under_way, version

NO_MINORS = {"Upgradeable": StatusCondition("False", "AdminAckRequired", "Acknowledge the removal of APIs.")}
RISKS = (UpdateRisk("SlowPods", "Pods are slow.", "https://example.com/slow"), UpdateRisk("NoDNS", "No DNS.", ""))


def judged(found: ClusterVersion, wanted: str, *accepted: str, **more: Any) -> Verdict:
    own = {each: more.pop(each) for each in ("gates", "without") if each in more}
    wanted_one = target(wanted, *accepted, **{"channel": found.channel, **more})
    return judge_target(openshift(version=found), wanted_one, **own)


def codes(found: ClusterVersion, wanted: str, *accepted: str, **more: Any) -> list[str]:
    return [each.code for each in judged(found, wanted, *accepted, **more).reasons]


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        ("4.18.1-rc.1", "not_greater"),
        ("4.17.20", "not_greater"),
        ("4.20.0", "minor_skipped"),
        ("5.0.0", "minor_skipped"),
        ("4.18.9", "update_not_offered"),
    ],
)
def test_a_version_that_cannot_be_reached_is_refused(wanted: str, code: str) -> None:
    assert codes(version(), wanted) == [code]


def test_a_version_that_is_offered_or_reached_is_allowed() -> None:
    assert codes(version(), OLD) == []
    assert codes(version(), NEW) == []
    assert codes(version(), "4.19.0") == []


def test_only_a_minor_version_needs_an_upgradeable_cluster() -> None:
    assert codes(version(conditions=NO_MINORS), NEW) == []
    assert codes(version(conditions=NO_MINORS), "4.19.0") == ["not_upgradeable"]
    assert judged(version(conditions=NO_MINORS), "4.19.0", without=("IsUpgradeable",)).passed


def test_the_first_version_of_5_is_another_minor_version_of_4() -> None:
    last = version(desired="4.22.7", history=(HistoryEntry("4.22.7", "Completed", "", ""),))
    offered = replace(last, updates={"5.0.2": Update("5.0.2", "release:5.0.2")})
    assert codes(offered, "5.0.2") == []
    assert codes(replace(offered, conditions=NO_MINORS), "5.0.2") == ["not_upgradeable"]
    (skipped,) = judged(offered, "5.1.0").reasons
    assert (skipped.code, skipped.remedy) == ("minor_skipped", "Upgrade to a version 5.0 first.")


def test_a_version_of_4_with_a_later_kubernetes_does_not_lead_to_5() -> None:
    past = version(desired="4.24.1", history=(HistoryEntry("4.24.1", "Completed", "", ""),))
    (skipped,) = judged(past, "5.0.2").reasons
    assert (skipped.code, skipped.remedy) == ("later_kubernetes", "Give another version of 4.")
    assert "so no update leads there" in skipped.message


def test_a_minor_version_that_is_commenced_needs_no_upgradeable_cluster() -> None:
    newest = HistoryEntry("4.19.0", "Partial", "2026-02-01T00:00:00Z", "")
    going = version(wanted="4.19.0", desired="4.19.0", history=(newest, *version().history), conditions=NO_MINORS)
    assert codes(going, "4.19.0") == []


def test_another_update_under_way_is_refused_and_the_same_one_gone_on_with() -> None:
    assert codes(under_way(), NEW) == []
    assert codes(under_way(), "4.18.3") == ["update_under_way"]


@pytest.mark.parametrize(
    "other",
    [
        {"wanted": "4.18.3"},
        {"wanted": "4.17.20"},
        {"wanted_image": "release:other", "desired_image": "release:old"},
    ],
)
def test_an_update_that_something_else_wants_and_that_is_not_begun_is_not_overwritten(other: dict[str, str]) -> None:
    """It may not be accepted, and begins once it is."""
    unsigned = {"ReleaseAccepted": StatusCondition("False", "RetrievePayload", "The update cannot be verified.")}
    (reason,) = judged(version(**other, conditions=unsigned), NEW).reasons
    assert reason.code == "another_update_wanted"
    assert reason.message.endswith(
        f"{other.get('wanted', 'release:other')}, which it has not begun: {unsigned['ReleaseAccepted'].message}"
    )
    assert codes(version(**other), NEW) == ["another_update_wanted"]


def test_what_is_left_of_the_last_update_is_no_other_wish() -> None:
    assert codes(version(wanted=OLD), NEW) == []
    assert codes(version(wanted_image="mirror/release@sha256:1", desired_image="release@sha256:1"), NEW) == []


def test_an_update_that_is_wanted_already_needs_no_offer() -> None:
    assert codes(version(wanted=NEW, updates={}), NEW) == []


def test_a_channel_that_cannot_be_asked_is_named() -> None:
    away = {"RetrievedUpdates": StatusCondition("False", "RemoteFailed", "no route to host")}
    (reason,) = judged(version(updates={}, conditions=away), NEW).reasons
    assert "no route to host" in reason.message
    assert reason.remedy.startswith("See whether the update service can be reached")


@pytest.mark.parametrize(
    ("cause", "remedy"), [("NoChannel", "Give a channel ("), ("VersionNotFound", "Give a channel that")]
)
def test_a_channel_that_has_nothing_to_offer_is_no_service_that_does_not_answer(cause: str, remedy: str) -> None:
    said = {"RetrievedUpdates": StatusCondition("False", cause, "as the operator has it")}
    (reason,) = judged(version(updates={}, conditions=said), NEW).reasons
    assert reason.code == "update_not_offered"
    assert reason.remedy.startswith(remedy)


def test_objects_that_an_override_leaves_alone_are_named() -> None:
    name = "Deployment openshift-etcd-operator/etcd-operator"
    (reason,) = judged(version(unmanaged=(name,)), NEW).reasons
    assert (reason.code, reason.state) == ("overrides_set", State.PASSED)
    assert name in reason.message


@pytest.mark.parametrize("said", [FALSE, StatusCondition()])
def test_each_risk_takes_consent_by_its_name(said: StatusCondition) -> None:
    risky = version(updates={NEW: replace(Update(NEW, "image", RISKS), recommended=said)})
    assert codes(risky, NEW) == ["update_risk", "update_risk"]
    assert codes(risky, NEW, "SlowPods") == ["update_risk_accepted", "update_risk"]
    assert judged(risky, NEW, "SlowPods", "NoDNS").passed


def test_versions_have_the_order_of_semantic_versions() -> None:
    ordered = [
        "4.18.0-ec.2",
        "4.18.0-rc.1",
        "4.18.0-rc.2",
        "4.18.0-rc.10",
        "4.18.0",
        "4.18.2",
        "4.18.10",
        "4.19.0-rc.0",
        "4.19.0",
    ]
    assert sorted(map(Release.parse, reversed(ordered))) == list(map(Release.parse, ordered))
    assert [str(Release.parse(each)) for each in ordered] == ordered


GATE = AdminGate("ack-4.18-kube", "Acknowledge the removal of APIs.")
SEVERAL = "Not to be upgraded for multiple reasons: A,B\n* Acknowledge the removal of APIs.\n* etcd is not backed up."


@pytest.mark.parametrize(
    ("message", "found"),
    [
        (GATE.text, ["acknowledgement_missing"]),
        (SEVERAL, ["acknowledgement_missing", "not_upgradeable"]),
        ("", ["acknowledgement_missing", "not_upgradeable"]),
    ],
)
def test_an_acknowledgement_is_said_once_and_other_causes_with_it(message: str, found: list[str]) -> None:
    said = version(conditions={"Upgradeable": StatusCondition("False", "MultipleReasons", message)})
    reasons = judged(said, "4.19.0", gates=[GATE]).reasons
    assert [each.code for each in reasons] == found
    assert sum(GATE.text in each.message for each in reasons) == 1
    assert judged(said, NEW, gates=[GATE]).passed


def test_the_command_of_an_acknowledgement_can_be_copied() -> None:
    (reason,) = judged(version(), "4.19.0", gates=[GATE]).reasons
    assert reason.remedy.endswith(
        """oc -n openshift-config patch cm admin-acks --patch '{"data":{"ack-4.18-kube":"true"}}' --type=merge"""
    )


def test_only_the_first_look_before_another_minor_version_needs_acknowledgements() -> None:
    assert is_next_minor(version(), target("4.19.0"))
    assert not is_next_minor(version(), target(NEW))
    assert not is_next_minor(version(), target("4.20.0"))
    assert not is_next_minor(version(wanted="4.19.0"), target("4.19.0"))


GRAPH = UpdateGraph(
    "stable-4.19",
    {each: f"release:{each}" for each in (OLD, NEW, "4.19.0", "4.19.1")},
    frozenset({(OLD, "4.19.0")}),
    {(OLD, "4.19.1"): RISKS},
)


def test_another_channel_is_judged_by_its_graph_and_not_by_the_list() -> None:
    other = {"channel": "stable-4.19", "graph": GRAPH}
    assert codes(version(), "4.19.0", **other) == ["update_in_graph"]
    assert codes(version(updates={}), "4.19.0", **other) == ["update_in_graph"]
    # The present channel lists it, and the other one does not offer it.
    assert codes(version(), NEW, **other) == ["update_not_offered"]
    assert codes(version(), "4.19.1", **other) == ["update_in_graph", "update_risk", "update_risk"]
    assert judged(version(), "4.19.1", "SlowPods", "NoDNS", **other).passed
    assert codes(version(conditions=NO_MINORS), "4.19.0", **other) == ["not_upgradeable", "update_in_graph"]


def test_a_graph_that_could_not_be_had_is_said_once() -> None:
    away = Verdict((waiting("update_service_unreachable", "It gives no answer."),))
    assert codes(version(), "4.19.0", channel="stable-4.19", trouble=away) == ["update_service_unreachable"]
    assert codes(version(updates={}), "4.19.0", trouble=away) == ["update_service_unreachable"]
    unknown = Verdict((refused("update_service_unknown", "No address is known.", "Give one."),))
    assert codes(version(updates={}), "4.19.0", trouble=unknown) == ["update_service_unknown", "update_not_offered"]


IMAGE = ImageReference("registry.example.com", "ocp/release", "sha256:" + 64 * "a")
IS_NEW = ReleaseImage(NEW, "amd64")


def test_an_image_is_compared_with_all_that_is_known_of_it() -> None:
    offered = version(updates={NEW: Update(NEW, f"mirror.example.com/other/name@{IMAGE.digest}")})
    assert codes(offered, NEW, image=IMAGE, metadata=IS_NEW) == []
    assert codes(version(), NEW, image=IMAGE, metadata=IS_NEW) == ["release_image_mismatch"]
    assert codes(version(updates={}), NEW, image=IMAGE, metadata=IS_NEW) == ["release_image_not_offered"]
    for wrong in (ReleaseImage("4.18.3", "amd64"), ReleaseImage(NEW, "s390x")):
        assert codes(offered, NEW, image=IMAGE, metadata=wrong) == ["release_image_mismatch"]
    assert codes(offered, NEW, image=IMAGE, metadata=ReleaseImage("", "amd64")) == ["release_image_unlabelled"]
    risky = version(updates={NEW: replace(offered.updates[NEW], risks=RISKS, recommended=FALSE)})
    assert codes(risky, NEW, image=IMAGE, metadata=IS_NEW) == ["update_risk", "update_risk"]


def test_an_update_under_way_is_gone_on_with_by_its_image_only() -> None:
    assert codes(under_way(wanted_image=str(IMAGE)), NEW, image=IMAGE) == []
    assert codes(under_way(wanted_image="release:other"), NEW, image=IMAGE) == ["release_image_mismatch"]
    assert codes(under_way(wanted_image="release:other"), NEW) == []


def test_the_update_is_desired_by_its_image() -> None:
    assert target(NEW, image=IMAGE).update(version()) == Update(NEW, str(IMAGE))
    assert target(NEW).update(version()).image == f"release:{NEW}"
    assert target("4.19.0", graph=GRAPH).update(version(updates={})).image == "release:4.19.0"
    assert target("4.19.7", graph=GRAPH).update(version()).image == ""


@pytest.mark.parametrize(
    "given",
    [
        "registry.example.com/ocp/release:4.18.2",
        "registry.example.com/ocp/release",
        "registry.example.com/release@" + IMAGE.digest,
        "ocp/release@" + IMAGE.digest,
        "https://registry.example.com/ocp/release@" + IMAGE.digest,
        str(IMAGE)[:-1],
        f"{IMAGE} ",
        "registry.example.com/ocp/re lease@" + IMAGE.digest,
        "user@registry.example.com/ocp/release@" + IMAGE.digest,
    ],
)
def test_an_image_without_its_digest_is_none(given: str) -> None:
    with pytest.raises(ValueError, match=re.escape(given)):
        ImageReference.parse(given)


@pytest.mark.parametrize("host", ["registry.example.com", "localhost:5000", "mirror:8443", "10.0.0.1:5000"])
def test_an_image_has_a_registry_a_repository_and_a_digest(host: str) -> None:
    found = ImageReference.parse(f"{host}/a/b/c@{IMAGE.digest}")
    assert (found.registry, found.repository, found.digest) == (host, "a/b/c", IMAGE.digest)


def test_several_architectures_are_kept_and_not_changed_to_with_another_version() -> None:
    multi, single = version(architecture="Multi"), version()
    wanted = target(is_multi=True)

    def codes_of(found: ClusterVersion, goal: Any) -> set[str]:
        verdict = judge_target(openshift(version=found), goal)
        return {each.code for each in verdict.reasons if each.code.startswith("architecture_")}

    assert codes_of(multi, wanted) == codes_of(single, target()) == set()
    assert codes_of(single, wanted) == {"architecture_single"}
    assert codes_of(multi, replace(wanted, image=IMAGE)) == {"architecture_with_image"}
