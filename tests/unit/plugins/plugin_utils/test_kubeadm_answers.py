"""Reading what kubeadm, crictl and etcd say on a machine."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.plugin_utils.kubeadm_answers import (
    brought,
    differing,
    lacking_majority,
    machine_of,
    missing_images,
    own_member_of,
    said_last,
    snapshot_of,
    space_fault,
    successor_of,
    version_in,
)

GIBI = 2**30
KUBECTL = json.dumps({"clientVersion": {"major": "1", "gitVersion": "v1.35.1", "goVersion": "go1.25.0"}})
FACTS = {"free": {"/": 3 * GIBI, "/var/lib": 2 * GIBI}, "etcd": {}}
STATUS = {
    "header": {"member_id": 18_000_000_000_000_000_001, "revision": 77},
    "leader": 2**63,
    "dbSize": GIBI,
    "version": "3.6.5",
}


def told(text: str, key: str = "", rc: int = 0) -> dict[str, Any]:
    """The result of a command that has written this."""
    return {"item": {"key": key}, "rc": rc, "stdout": text}


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v1.35.1", "1.35.1"),
        ("Kubernetes v1.36.0-rc.1", "1.36.0-rc.1"),
        (KUBECTL, "1.35.1"),
        ("go1.25.0", ""),
        ("", ""),
    ],
)
def test_versions(text: str, version: str) -> None:
    assert version_in(text) == version


def test_the_fact_of_a_machine_of_the_control_plane() -> None:
    seen = [told("v1.35.1", "kubeadm"), told("Kubernetes v1.35.0", "kubelet"), told(KUBECTL, "kubectl")]
    seen.append(told("      Avail\n 500\n 600", "space"))
    expiring = {
        "certificates": [
            {"name": "apiserver", "expirationDate": "2027-01-02T03:04:05Z", "externallyManaged": True},
            {"name": "etcd-peer", "expirationDate": "0001-01-01T00:00:00Z", "missing": True},
        ],
        "certificateAuthorities": [
            {"name": "ca", "expirationDate": "2036-01-02T03:04:05Z", "externallyManaged": False}
        ],
    }
    # kubeadm warns on its output where it cannot read the ConfigMap.
    said = told(f"[check-expiration] Error reading configuration\n{json.dumps(expiring)}")
    members = [{"ID": 1, "name": "cp-1"}, {"ID": 2, "name": "cp-2", "isLearner": True}]
    members.append({"ID": 3, "peerURLs": ["https://10.0.0.3:2380"]})
    counted = told(json.dumps({"header": {}, "members": members}))
    found = machine_of(seen, said, told(json.dumps([{"Status": STATUS}])), counted)
    assert found == {
        "kubeadm": "1.35.1",
        "kubelet": "1.35.0",
        "kubectl": "1.35.1",
        "free": {"/": 500, "/var/lib": 600},
        "certificates": [
            {"name": "apiserver", "expires": "2027-01-02T03:04:05Z", "external": True},
            {"name": "ca", "expires": "2036-01-02T03:04:05Z"},
        ],
        "etcd": {
            "member": "18000000000000000001",
            "leader": str(2**63),
            "revision": 77,
            "size": GIBI,
            "version": "3.6.5",
            "voters": ["cp-1", "https://10.0.0.3:2380"],
        },
    }


def counting(*names: str) -> dict[str, Any]:
    """The result of `etcdctl member list`; the number of a member is its place."""
    found = [{"ID": number, "name": name} for number, name in enumerate(names)]
    return told(json.dumps({"members": [*found, {"ID": 99, "name": "new", "isLearner": True}]}))


def answers(*numbers: int, alone: tuple[int, ...] = ()) -> dict[str, Any]:
    """The result of `etcdctl endpoint status --cluster`, which fails if one does not answer.

    Those that are `alone` know no leader.
    """
    found: list[dict[str, Any]] = [{"header": {"member_id": each}, "leader": 2} for each in numbers]
    found += [{"header": {"member_id": each}, "errors": ["etcdserver: no leader"]} for each in alone]
    return told(json.dumps([{"Status": each} for each in found]), rc=1)


def test_the_majority_that_etcd_keeps_without_a_member() -> None:
    three = counting("cp-1", "cp-2", "cp-3")
    assert lacking_majority(answers(0, 1, 2), three, "0") == ""
    assert lacking_majority(answers(0, 1, 99), three, "0") == (
        "Without this member 1 of 3 members of etcd answer (no answer now: cp-3), which is no majority."
    )
    assert lacking_majority(answers(1, 2), three, "0") == "", "it counts for nothing itself"
    assert lacking_majority(answers(0, 1, alone=(2,)), three, "0") == (
        "Without this member 1 of 3 members of etcd answer (no leader known to cp-3), which is no majority."
    )
    assert "(no answer now: cp-3; no leader known to cp-2)" in lacking_majority(answers(0, alone=(1,)), three, "0")
    four = counting("cp-1", "cp-2", "cp-3", "gone")
    assert "2 of 4 members of etcd answer (no answer now: gone)" in lacking_majority(answers(0, 1, 2), four, "0")
    assert "0 of 3" in lacking_majority(told("no JSON"), three, "0")
    said = lacking_majority(answers(0, 1, 2), {"rc": 1, "stderr": "context deadline exceeded"}, "0")
    assert said == "etcd does not say which members it counts: context deadline exceeded."


def test_the_member_of_etcd_that_has_answered() -> None:
    assert own_member_of(told('{"header": {"member_id": 18000000000000000001}, "members": []}')) == f"{18 * 10**18 + 1}"
    for nothing in ({"skipped": True}, told("", rc=1), told("[]"), told("no JSON"), told('{"members": []}')):
        assert own_member_of(nothing) == ""


@pytest.mark.parametrize(
    "etcd", [{"skipped": True}, told("", rc=1), told("[]"), told("no JSON"), told('[{"Status": {}}]')]
)
def test_the_fact_of_a_machine_that_has_nothing(etcd: dict[str, Any]) -> None:
    seen = [told("", name, 2) for name in ("kubeadm", "kubelet", "kubectl", "space")]
    found = machine_of(seen, {"skipped": True}, etcd, etcd)
    nothing = {"kubeadm": "", "kubelet": "", "kubectl": "", "free": {}, "certificates": [], "etcd": {}}
    assert found == nothing


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        (
            {"stderr": "W0101 a warning\nerror execution phase preflight: it is bad\nTo see the stack trace"},
            "error execution phase preflight: it is bad",
        ),
        ({"stderr": "E0101 10:00:00.1  1 x.go:1] no quorum.\n", "stdout": "x"}, "no quorum"),
        ({"stderr": "\n", "stdout": "1\n2\n3\n4", "msg": "non-zero return code"}, "2 3 4"),
        ({"msg": "Timed out after 5 second(s)."}, "Timed out after 5 second(s)"),
        ({}, "it has said nothing"),
    ],
)
def test_the_last_lines_of_a_failure(result: dict[str, Any], sentence: str) -> None:
    assert said_last(result) == sentence


def test_space_is_enough_or_named() -> None:
    assert space_fault(FACTS, 2 * GIBI) == ""
    # A copy of the database needs its size in addition.
    few = {**FACTS, "etcd": {"size": GIBI}}
    assert space_fault(few, 2 * GIBI) == "/var/lib has 2.0 GiB free, and 3.0 GiB are needed."
    assert space_fault(few, 3 * GIBI) == "/ has 3.0 GiB free, /var/lib has 2.0 GiB free, and 4.0 GiB are needed."
    assert space_fault({}, 1) == "The free space of / and /var/lib could not be read."


def test_too_little_space_is_a_fault_of_the_machine() -> None:
    seen = [told("      Avail\n 1073741824\n 4294967296", "space")]
    (fault,) = machine_of(seen, {}, {}, {}, 2 * GIBI)["faults"]
    assert fault == {
        "said": "It has too little space: / has 1.0 GiB free, and 2.0 GiB are needed.",
        "remedy": "Make room there, or set member_kubeadm_free.",
    }
    assert "faults" not in machine_of(seen, {}, {}, {}, GIBI)
    assert "faults" not in machine_of([], {}, {}, {}, 0), "it is not asked for"


@pytest.mark.parametrize(
    ("status", "fault"),
    [
        ({"hash": 3, "revision": 7, "totalSize": 20}, ""),
        ({"hash": 3, "revision": 6, "totalSize": 20}, "it ends at revision 6, and etcd was at 7 before"),
        ({"hash": 3, "revision": 7, "totalSize": 0}, "it is empty"),
        ({"revision": 7, "totalSize": 20}, "its status cannot be read"),
        ([], "its status cannot be read"),
    ],
)
def test_a_snapshot_is_whole_or_has_a_fault(status: Any, fault: str) -> None:
    found = snapshot_of(json.dumps(status), "/snapshots/a.db", 7, f"{'ab' * 32}  -\n{' ab' * 16}\n{' ab' * 16}")
    assert (found["path"], found["fault"]) == ("/snapshots/a.db", fault)
    if not fault:
        assert (found["hash"], found["revision"], found["size"]) == ("3", 7, 20)


@pytest.mark.parametrize("sums", ["", "-", f"{'ab' * 32}  -", f"{'ab' * 32}  -\n{' cd' * 32}", "ab - ab"])
def test_a_snapshot_with_another_checksum_is_not_whole(sums: str) -> None:
    found = snapshot_of(json.dumps({"hash": 3, "revision": 7, "totalSize": 20}), "/snapshots/a.db", 7, sums)
    assert found["fault"] == "its content does not have the checksum that etcd has written at its end"


def members(*of_etcd: tuple[int, int, dict[str, Any]], leader: int = 10) -> str:
    """The answer about all members of etcd: each with its number, the end of its log, and more."""
    return json.dumps(
        [
            {"Status": {"header": {"member_id": number}, "leader": leader, "raftIndex": index, **more}}
            for number, index, more in of_etcd
        ]
    )


@pytest.mark.parametrize(
    ("said", "successor"),
    [
        (members((10, 7, {}), (11, 5, {}), (12, 6, {})), "c"),
        (members((10, 7, {}), (11, 5, {}), (12, 7, {"isLearner": True})), "b"),
        (members((10, 7, {}), (11, 5, {}), (12, 7, {"errors": ["memberID:12 alarm:CORRUPT"]})), "b"),
        (members((10, 7, {}), (11, 5, {}), leader=11), ""),
        (members((11, 7, {}), (12, 5, {})), ""),
        (members((10, 7, {})), ""),
        ("", ""),
    ],
)
def test_the_member_of_etcd_that_takes_over_the_lead(said: str, successor: str) -> None:
    assert successor_of(said, "10") == successor


def test_images_that_are_not_there() -> None:
    listed = "W0101 x y\nregistry.test/a:v1\nregistry.test/b:v1\n"
    present = json.dumps({"images": [{"repoTags": ["registry.test/a:v1"]}, {"repoTags": None}]})
    assert missing_images(listed, present) == ["registry.test/b:v1"]
    assert missing_images(listed, "") == ["registry.test/a:v1", "registry.test/b:v1"]


def test_files_that_differ() -> None:
    one, other = [{"path": "/a", "checksum": "1"}], [{"path": "/a", "checksum": "2"}]
    assert [differing(one, [*one]), differing(one, other), differing(one, [])] == [False, True, True]


LISTED = "registry.test/kube-apiserver:v1.36.1\nregistry.test/coredns/coredns:v1.14.1\nregistry.test/etcd:3.6.6-0\n"


@pytest.mark.parametrize(
    ("etcd", "dns", "said", "older"),
    [
        ("3.6.5", "registry.test/coredns:v1.13.1", ["etcd 3.6.5 → 3.6.6", "CoreDNS 1.13.1 → 1.14.1"], []),
        ("3.6.6", "registry.test/coredns:v1.14.1@sha256:0", ["etcd 3.6.6 → 3.6.6", "CoreDNS 1.14.1 → 1.14.1"], []),
        ("3.7.0", "", ["etcd stays at 3.7.0, since kubeadm brings 3.6.6"], ["etcd"]),
        ("", "registry.test/coredns:v1.15.0", ["CoreDNS 1.15.0 → 1.14.1"], ["CoreDNS"]),
        ("", "registry.test/coredns:latest", [], []),
    ],
)
def test_what_kubeadm_brings_is_compared(etcd: str, dns: str, said: list[str], older: list[str]) -> None:
    found = brought(LISTED, etcd, dns)
    assert [each["said"] for each in found] == said
    assert [each["name"] for each in found if each["older"]] == older
