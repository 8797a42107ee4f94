"""Answers of kubeadm, the kubelet, crictl and etcd on a machine, read for the role member_kubeadm. Runs no command."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..module_utils.common.release import release_in
from ..module_utils.common.words import printable, shortened

Json = Mapping[str, Any]
SPACE = ("/", "/var/lib")
_ROOM = "Make room there, or set member_kubeadm_free."
"""The folders whose file systems are checked for free space, in this order."""
_VERSION = re.compile(r"\bv?(\d+\.\d+\.\d+[\w.+-]*)")
_KLOG = re.compile(r"^[EF]\d{4} [\d:.]+\s+\d+ \S+\] ")
_IDLE = re.compile(
    r"^$|^[IW]\d{4} |^To see the stack trace|^\[preflight\] If you know what you are doing|^Can be bypassed if"
)
"""Lines that say nothing about a failure: hints of kubeadm, and warnings of its log."""
_LINES, _LONGEST = 3, 600
GIBI = 2**30
DIGITS = 64
"""The hexadecimal digits of a SHA-256."""
ANOTHER = 75
"""The exit code that the role gives flock for a lock that another command holds."""


def machine_of(seen: Iterable[Json], certificates: Json, etcd: Json, counted: Json, least: int = 0) -> dict[str, Any]:
    """The fact `member_machine`, from the results of the commands that ask for it.

    Args:
        seen: Results of a loop, each with its name in `item.key`: kubeadm, kubelet, kubectl, space, machine_id.
        certificates: That of `kubeadm certs check-expiration -o json`.
        etcd: That of `etcdctl endpoint status -w json`.
        counted: That of `etcdctl member list -w json`.
        least: The bytes that each file system has to have free; with 0 that is no fault.
    """
    said = {str(each["item"]["key"]): _stdout(each) for each in seen}
    programs = {name: version_in(said.get(name, "")) for name in ("kubeadm", "kubelet", "kubectl")}
    found = {
        **programs,
        "free": _free(said.get("space", "")),
        "certificates": _certificates(_stdout(certificates)),
        "etcd": _member(_stdout(etcd), _stdout(counted)),
    }
    lacking = space_fault(found, least) if int(least) else ""
    faults = [{"said": f"It has too little space: {lacking}", "remedy": _ROOM}] if lacking else []
    identity = {"machine_id": said["machine_id"].strip()} if said.get("machine_id") else {}
    return {**found, **identity, **({"faults": faults} if faults else {})}


def version_in(text: str) -> str:
    """The version in the answer of a program, such as 1.35.1; empty if there is none."""
    found = _VERSION.search(text)
    return found[1] if found else ""


def said_last(result: Json) -> str:
    """The last useful lines of a command, as one line; the message of Ansible if it has written nothing."""
    for each in ("stderr", "stdout", "msg"):
        lines = [_KLOG.sub("", line.strip()) for line in str(result.get(each) or "").splitlines()]
        lines = [line for line in lines if not _IDLE.search(line)]
        if lines:
            return shortened(printable(" ".join(lines[-_LINES:])), _LONGEST).rstrip(".")
    return (
        "a kubeadm of an earlier run is still at work there" if result.get("rc") == ANOTHER else "it has said nothing"
    )


def space_fault(machine: Json, least: int) -> str:
    """The sentence about the file systems with too little space; empty if each has enough.

    Args:
        machine: The fact `member_machine`. A member of etcd needs the size of its database in addition, since kubeadm
            copies it before it replaces etcd (`BackupEtcd` in `cmd/kubeadm/app/phases/upgrade/staticpods.go`).
        least: The bytes that each has to have.
    """
    needed = int(least) + int((machine.get("etcd") or {}).get("size") or 0)
    free = machine.get("free") or {}
    unknown = [path for path in SPACE if path not in free]
    if unknown:
        return f"The free space of {' and '.join(unknown)} could not be read."
    few = [f"{path} has {_shown(int(free[path]))} free" for path in SPACE if int(free[path]) < needed]
    return f"{', '.join(few)}, and {_shown(needed)} are needed." if few else ""


def snapshot_of(said: str, path: str, seen: int, sums: str) -> dict[str, Any]:
    """A snapshot of etcd: its path, hash, revision and size in bytes, the words for these, and its fault, which is
    empty if it is whole.

    Args:
        said: The answer of `etcdutl snapshot status -w json`.
        path: The file in which it is kept.
        seen: The revision that etcd had before the snapshot.
        sums: The SHA-256 of the file without its last 32 bytes, as sha256sum says it, and these bytes, as od does. etcd
            sends them behind the data (`server/etcdserver/api/v3rpc/maintenance.go`), and only a restore compares them.
    """
    found = json_in(said)
    status = found if isinstance(found, Mapping) else {}
    numbers = [each for each in map(status.get, ("hash", "revision", "totalSize")) if isinstance(each, int)]
    if len(numbers) < 3:
        return {"path": path, "said": path, "fault": "its status cannot be read"}
    digest, revision, size = numbers
    fault = "" if size else "it is empty"
    if revision < int(seen):
        fault = f"it ends at revision {revision}, and etcd was at {seen} before"
    if not fault and not _is_summed(sums):
        fault = "its content does not have the checksum that etcd has written at its end"
    said = f"{path}, revision {revision}, hash {digest}, {size} bytes"
    return {"path": path, "hash": str(digest), "revision": revision, "size": size, "said": said, "fault": fault}


def _is_summed(sums: str) -> bool:
    first, *rest = sums.split() or [""]
    return len(first) == DIGITS and "".join(each for each in rest if each != "-") == first


def successor_of(said: str, own: str) -> str:
    """The member of etcd that can take over the lead, as `etcdctl move-leader` names it; empty if there is none.

    It is the voter that has answered without an alarm and has the most of the log (`transferLeadership` in
    `server/etcdserver/server.go` waits until the new leader has all of it).

    Args:
        said: The answer of `etcdctl endpoint status --cluster -w json`. A member that does not answer is not in it.
        own: The number of the member of this machine. If another one leads, there is nothing to hand over.
    """
    found = json_in(said)
    seen = [each.get("Status") or {} for each in found] if isinstance(found, list) else []
    ready = {int(each["header"]["member_id"]): each for each in seen if "member_id" in (each.get("header") or {})}
    if not any(str(number) == own == str(each.get("leader")) for number, each in ready.items()):
        return ""
    others = [
        (int(each.get("raftIndex", 0)), number)
        for number, each in ready.items()
        if str(number) != own and not each.get("isLearner") and not each.get("errors")
    ]
    return f"{max(others)[1]:x}" if others else ""


def own_member_of(counted: Json) -> str:
    """The number of the member of etcd that has answered; empty without an answer.

    Args:
        counted: The result of `etcdctl member list -w json`.
    """
    found = json_in(_stdout(counted))
    return str((found.get("header") or {}).get("member_id", "")) if isinstance(found, Mapping) else ""


def lacking_majority(said: Json, counted: Json, own: str) -> str:
    """The sentence about a majority that etcd would not have without a member; empty if it keeps it.

    A member that answers and knows no leader, such as one that does not reach the others, counts for nothing.

    Args:
        said: The result of `etcdctl endpoint status --cluster -w json`. A member that does not answer is not in it.
        counted: The result of `etcdctl member list -w json`, also of members whose machines are gone.
        own: The number of the member that goes.
    """
    # With a member that does not answer, it fails after it has shown the others.
    found = json_in(str(said.get("stdout") or ""))
    seen = [each.get("Status") or {} for each in found] if isinstance(found, list) else []
    answers = {str((each.get("header") or {}).get("member_id")): bool(each.get("leader")) for each in seen}
    voting = _voting(_stdout(counted))
    if not voting:
        return f"etcd does not say which members it counts: {said_last(counted)}."
    left = sum(answers.get(str(each["ID"]), False) for each in voting if str(each["ID"]) != own)
    if 2 * left > len(voting):
        return ""
    silent = ", ".join(_named(each) for each in voting if str(each["ID"]) not in answers)
    alone = ", ".join(_named(each) for each in voting if answers.get(str(each["ID"])) is False)
    causes = [f"{said} {names}" for said, names in (("no answer now:", silent), ("no leader known to", alone)) if names]
    away = f" ({'; '.join(causes)})" if causes else ""
    return f"Without this member {left} of {len(voting)} members of etcd answer{away}, which is no majority."


def missing_images(listed: str, present: str) -> list[str]:
    """The images that are not on the machine.

    Args:
        listed: The answer of `kubeadm config images list`, one image a line.
        present: The answer of `crictl images -o json`.
    """
    found = json_in(present)
    items = found.get("images") or [] if isinstance(found, Mapping) else []
    there = {tag for each in items for tag in each.get("repoTags") or []}
    wanted = [line.strip() for line in listed.splitlines() if "/" in line and " " not in line.strip()]
    return [each for each in wanted if each not in there]


def brought(listed: str, etcd_version: str, dns: str) -> list[dict[str, Any]]:
    """What kubeadm does with etcd and CoreDNS: each its `name`, `said`, and whether its new version is `older`.

    One that is not there, or whose versions cannot be compared, is left out.

    Args:
        listed: The answer of `kubeadm config images list` for the new version.
        etcd_version: The version of the member of etcd.
        dns: The image of CoreDNS.
    """
    tags = {each.rpartition("/")[2].partition(":")[0]: each.rpartition(":")[2] for each in listed.split()}
    present = {"etcd": etcd_version, "CoreDNS": dns.partition("@")[0].rpartition(":")[2]}
    found = list[dict[str, Any]]()
    for name, tag in present.items():
        # The tag of etcd has the number of its build, which etcd itself does not say.
        now, new = (release_in(version_in(each).partition("-")[0]) for each in (tag, tags.get(name.lower(), "")))
        if now is not None and new is not None:
            # kubeadm keeps a newer etcd (`performEtcdStaticPodUpgrade`), and no newer CoreDNS.
            kept = name == "etcd" and new < now
            said = f"{name} stays at {now}, since kubeadm brings {new}" if kept else f"{name} {now} → {new}"
            found.append({"name": name, "said": said, "older": new < now})
    return found


def differing(before: Iterable[Json], after: Iterable[Json]) -> bool:
    """Whether files have changed: each has its path and its checksum."""
    found = [{str(each["path"]): each.get("checksum") for each in files} for files in (before, after)]
    return found[0] != found[1]


def _stdout(result: Json) -> str:
    return str(result.get("stdout") or "") if result.get("rc", 1) == 0 else ""


def _free(text: str) -> dict[str, int]:
    """The bytes below the heading of `df --output=avail`."""
    numbers = [int(each) for each in text.split()[1:] if each.isdigit()]
    return dict(zip(SPACE, numbers, strict=True)) if len(numbers) == len(SPACE) else {}


def _certificates(text: str) -> list[dict[str, Any]]:
    """The certificates of `output.kubeadm.k8s.io/v1alpha3`, without those that are missing.

    One is `external` whose authority has no key on the machine: kubeadm does not renew it (`RenewUsingLocalCA` in
    `cmd/kubeadm/app/phases/certs/renewal/manager.go`).
    """
    found = json_in(text)
    lists = [found.get(each) or [] for each in ("certificates", "certificateAuthorities")] if found else []
    return [
        {
            "name": str(each["name"]),
            "expires": str(each["expirationDate"]),
            **({"external": True} if each.get("externallyManaged") else {}),
        }
        for items in lists
        for each in items
        if not each.get("missing") and each.get("expirationDate")
    ]


def _member(text: str, counted: str) -> dict[str, Any]:
    """The member of etcd itself; ids are texts, because not every reader of JSON keeps 64 bits."""
    found = json_in(text)
    if not isinstance(found, list) or not found:
        return {}
    status = found[0].get("Status") or {}
    header = status.get("header") or {}
    if "member_id" not in header:
        return {}
    ids = {"member": str(header["member_id"]), "leader": str(status.get("leader", 0))}
    ids["version"] = str(status.get("version", ""))
    numbers = {"revision": int(header.get("revision", 0)), "size": int(status.get("dbSize", 0))}
    return {**ids, **numbers, "voters": [_named(each) for each in _voting(counted)]}


def _voting(text: str) -> list[dict[str, Any]]:
    """The members with a vote."""
    found = json_in(text)
    members = found.get("members") or [] if isinstance(found, dict) else []
    return [each for each in members if not each.get("isLearner")]


def _named(member: Json) -> str:
    """The name of a member; of one that has never started, which has no name, its address."""
    return str(member.get("name") or ", ".join(member.get("peerURLs") or ()))


def json_in(text: str) -> Any:
    """The JSON in a text; an empty dictionary if there is none. kubeadm may write a warning before it."""
    starts = [text.find(each) for each in "[{" if each in text]
    for start in sorted(starts):
        try:
            return json.loads(text[start:])
        except ValueError:
            continue
    return {}


def _shown(size: int) -> str:
    return f"{size / GIBI:.1f} GiB"
