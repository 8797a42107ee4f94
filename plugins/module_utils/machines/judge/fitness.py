"""Whether a kubeadm cluster is fit for the next machines to go down. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime, timedelta

from ...common.verdict import Reason, as_verdict, refused, remark, waiting
from ...common.words import enumerate_few
from ..observe.facts import MachineFacts
from ..observe.state import ETCD, KubeadmCluster, KubeadmMachine

SOON = timedelta(days=30)
"""Certificates that end within this time are named. kubeadm renews them in an upgrade, but for the authorities, and for
those of an authority whose key it does not have (kubeadm, `renew`)."""
AUTHORITIES = ("ca", "etcd-ca", "front-proxy-ca")
"""The authorities by the names that `kubeadm certs check-expiration` gives them."""


@as_verdict
def judge_members(seen: KubeadmCluster, groups: Mapping[str, Collection[str]], target: str) -> Iterator[Reason]:
    """Whether the machines of the inventory are those of the cluster, each once, with its whole control plane."""
    given = Counter(name for names in groups.values() for name in names)
    twice = sorted(name for name, count in given.items() if count > 1)
    if twice:
        places = {name: ", ".join(group for group, names in groups.items() if name in names) for name in twice}
        named = enumerate_few(f"{name} ({where})" for name, where in places.items())
        yield refused(
            "machine_named_twice",
            f"upgrade_groups name machines more than once: {named}.",
            "Name only groups that share no host, and give each host its own upgrade_member.",
        )
    unknown = sorted(given.keys() - seen.machines.keys())
    if unknown:
        yield refused(
            "machine_unknown",
            f"The cluster has no Kubernetes node for the hosts of {enumerate_few(unknown)}.",
            "Set the variable upgrade_member of each host to the name of its Kubernetes node, or take the host out of"
            " upgrade_groups.",
        )
    left = [name for name in seen.machines if name not in given and not seen.is_done(name, target)]
    masters = [name for name in left if seen.machines[name].control_plane]
    if masters:
        yield refused(
            "control_plane_left_out",
            f"Machines of the control plane are in none of upgrade_groups: {enumerate_few(masters)}.",
            "Add them: the control plane is upgraded as a whole, and first.",
        )
    workers = [name for name in left if name not in masters]
    if workers:
        said = f"Machines in no group of upgrade_groups are left as they are: {enumerate_few(workers)}."
        yield remark("machines_left", said)


@as_verdict
def judge_machines(seen: KubeadmCluster, names: Collection[str], going: Collection[str] = ()) -> Iterator[Reason]:
    """Whether every Kubernetes node is Ready and has enough of everything.

    One that goes next, or that is not upgraded by the run, may be cordoned by a person; it stays cordoned.
    `names` are all machines of the run, and `going` those that are about to go down.
    """
    for each in seen.machines.values():
        yield from _unfit(each)
    closed = [name for name in names if seen.machines[name].is_kept]
    if closed and not going:
        said = f"Machines that another user has cordoned stay cordoned: {enumerate_few(closed)}."
        yield remark("stays_cordoned", said)
    leaving = [name for name in names if seen.machines[name].leaving]
    if leaving:
        said = f"Machines are being deleted, so no work on them would last: {enumerate_few(leaving)}."
        yield waiting("machine_leaving", said, "Wait until they are gone, or take them out of upgrade_groups.")


def _unfit(machine: KubeadmMachine) -> Iterator[Reason]:
    troubles = [*machine.pressures, *([] if machine.ready else ["is not Ready"])]
    for each in troubles:
        said = f"Kubernetes node {machine.name} {each}."
        yield waiting("kubernetes_node_unfit", said, "Bring it back, or free what it lacks.", about=machine.name)


@as_verdict
def judge_control_plane(
    seen: KubeadmCluster, going: Collection[str] = (), *, etcd_too: bool = False
) -> Iterator[Reason]:
    """Whether all components of the control plane are Ready, but for those of machines that are about to go down.

    With `etcd_too` their members of etcd are no exception: kubeadm does not start to upgrade etcd while one is not
    healthy (kubeadm, `performEtcdStaticPodUpgrade`).
    """
    for each in seen.components:
        exempt = each.machine in going and not (etcd_too and each.name == ETCD)
        if not each.ready and not exempt:
            said = f"{each.name} on machine {each.machine} is not Ready."
            yield waiting("component_unwell", said, "See its log: crictl logs, or kubectl logs.", about=str(each))


@as_verdict
def judge_quorum(seen: KubeadmCluster, going: Collection[str], *, accepted: bool) -> Iterator[Reason]:
    """Whether etcd keeps its majority, and the API a server, while these machines are away.

    Where neither is possible even if all members are Ready, as with one or two of them, it takes consent. An etcd
    outside of the cluster is no matter of its machines.
    """
    going = [name for name in going if name in seen.control_plane]
    if not going:
        return
    voters = seen.voters
    stay = [each for each in voters if each.machine not in going and each.ready]
    if voters and 2 * len(stay) <= len(voters) and any(each.machine in going for each in voters):
        yield _without_majority(seen, len(stay), going, accepted=accepted)
    elif len(seen.control_plane) == 1:
        yield _alone(going, accepted=accepted)


@as_verdict
def judge_counted(
    seen: KubeadmCluster, facts: Mapping[str, MachineFacts], going: Collection[str], *, accepted: bool
) -> Iterator[Reason]:
    """Whether etcd keeps its majority although it counts members that run on no machine of the control plane, such as
    one whose machine was deleted. Kubernetes does not show them (kubeadm removes a member only by `kubeadm reset`)."""
    counted = max((each.etcd.voters for each in facts.values() if each.etcd is not None), key=len, default=())
    beyond = len(counted) - len(seen.control_plane)
    if beyond <= 0 or not any(name in seen.control_plane for name in going):
        return
    unknown = [each for each in counted if each not in seen.control_plane]
    said = (
        f"etcd counts {len(counted)} members, {beyond} more than the control plane has machines:"
        f" {enumerate_few(unknown if len(unknown) == beyond else counted)}."
    )
    remedy = "Remove a member whose machine is gone, by etcdctl member remove and its id from etcdctl member list"
    left = sum(each.ready for each in seen.voters) - 1
    keeps = 2 * left > len(counted)
    if not keeps:
        said += f" With one machine away at most {left} of them are Ready, which is no majority: no API server answers."
    if keeps or accepted:
        yield remark("etcd_member_without_machine", said, f"{remedy}.")
    else:
        yield refused("etcd_member_without_machine", said, f"{remedy}, or {_CONSENT}.")


def _alone(going: Collection[str], *, accepted: bool) -> Reason:
    said = f"While {enumerate_few(going)} is away there is no API server: the control plane has no other machine."
    return _by_consent(said, f"{_CONSENT[0].upper()}{_CONSENT[1:]}.", accepted=accepted)


def _without_majority(seen: KubeadmCluster, stay: int, going: Collection[str], *, accepted: bool) -> Reason:
    """Waits only for members that may come back. If all of them are no majority either, it takes consent."""
    # A machine that is away may have no pod of etcd, and its member counts all the same.
    members = {each.machine for each in seen.voters} | {*seen.control_plane}
    count, left, names = len(members), len(members - {*going}), enumerate_few(going)
    if count == 1:
        return _alone(going, accepted=accepted)
    if 2 * left > count or (accepted and stay < left):
        said = f"Without {names} etcd would have {stay} of {count} members Ready, which is no majority."
        return waiting("etcd_quorum", said, "Bring the other members of etcd back.", about=names)
    said = (
        f"While {names} is away etcd has at most {left} of {count} members, which is no majority, so that no API server"
        " answers."
    )
    return _by_consent(said, f"Add a machine to the control plane, or {_CONSENT}.", accepted=accepted)


_CONSENT = "set allow_quorum_loss if pods may run without it for some minutes"


def _by_consent(said: str, remedy: str, *, accepted: bool) -> Reason:
    return remark("no_api_meanwhile", said) if accepted else refused("etcd_quorum", said, remedy)


def _judge_certificates(facts: Mapping[str, MachineFacts], names: Collection[str], now: datetime) -> Iterator[Reason]:
    ended, soon, external, authorities = list[str](), list[str](), list[str](), list[str]()
    for name in names:
        for each in facts[name].certificates if name in facts else ():
            if each.expires <= now:
                ended.append(f"{each.name} on {name}")
            elif each.expires - now < SOON:
                of_all = authorities if each.name in AUTHORITIES else external if each.external else soon
                of_all.append(f"{each.name} on {name} ({each.expires.date()})")
    if ended:
        remedy = (
            "Renew them: kubeadm certs renew all, then restart the control plane. It renews no authority, such as ca,"
            " and nothing whose authority has its key elsewhere: replace these by hand."
        )
        yield refused("certificate_ended", f"Certificates have expired: {enumerate_few(ended)}.", remedy)
    if soon:
        said = f"Certificates that expire soon, and that kubeadm renews: {enumerate_few(soon)}."
        yield remark("certificates_end", said)
    if external:
        said = (
            "Certificates that expire soon, and that kubeadm does not renew, since it does not have the key of their"
            f" authority: {enumerate_few(external)}."
        )
        yield remark("external_certificates_end", said, "Have their authority sign new ones.")
    if authorities:
        said = f"Authorities that expire soon, and that kubeadm does not renew: {enumerate_few(authorities)}."
        yield remark("authorities_end", said)


def _judge_hosts(seen: KubeadmCluster, facts: Mapping[str, MachineFacts], names: Collection[str]) -> Iterator[Reason]:
    """Whether the host that is upgraded is the machine that is drained for it, as far as both say their id.

    One that starts with another image of its system may have got another id, which its kubelet reports once it runs.
    """
    for name in names:
        own, wanted = facts[name].machine_id if name in facts else "", seen.machines[name].machine_id
        if "" in (own, wanted) or own == wanted:
            continue
        others = [each.name for each in seen.machines.values() if each.machine_id == own]
        if not (others or seen.machines[name].ready):
            continue
        also = f", but that of Kubernetes node {enumerate_few(others)}" if others else ""
        yield refused(
            "machine_mistaken",
            f"The host of machine {name} is another machine: its /etc/machine-id is not that of Kubernetes node"
            f" {name}{also}.",
            "Correct upgrade_member or the address of that host. If its id has changed, restart its kubelet.",
        )


@as_verdict
def judge_facts(
    seen: KubeadmCluster, facts: Mapping[str, MachineFacts], names: Collection[str], now: datetime
) -> Iterator[Reason]:
    """Whether each host is its machine, kubeadm is on it, its role has found no fault there, and no certificate has
    ended."""
    yield from _judge_hosts(seen, facts, names)
    without = [name for name in names if name in facts and not facts[name].kubeadm]
    if without:
        yield refused(
            "kubeadm_not_installed",
            f"kubeadm is not installed on {enumerate_few(without)}.",
            "Install it there, or take these machines out of upgrade_groups.",
        )
    for name in names:
        for fault in facts[name].faults if name in facts else ():
            yield refused("machine_fault", f"Machine {name} cannot be upgraded as it is. {fault.said}", fault.remedy)
    unseen = [name for name in names if name in seen.control_plane and name not in facts]
    if unseen:
        yield remark(
            "control_plane_not_seen",
            f"Nothing has looked at {enumerate_few(unseen)} itself, so it is not known which certificates expire soon,"
            " nor which member of etcd leads: the leader may go before the last machine. etcd then elects another one.",
            "Run kubeadm certs check-expiration there.",
        )
    yield from _judge_certificates(facts, names, now)
    silent = [name for name in seen.control_plane if name in facts and facts[name].etcd is None]
    if silent and any(each.name == ETCD for each in seen.components):
        yield remark(
            "etcd_leader_unknown",
            f"The member of etcd on {enumerate_few(silent)} did not say which one leads, so the leader may go"
            " before the last machine. etcd then elects another one.",
        )
