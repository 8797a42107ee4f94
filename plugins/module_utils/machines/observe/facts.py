"""The facts of each machine, as the step `look` of its role has seen them on the machine itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ...common.errors import NotUnderstood
from ...common.reading import Json, Unreadable, flag, listed, part, text, texts, understood, whole
from .state import machine_id_in, plain


@dataclass(frozen=True)
class KubeadmCertificate:
    """A certificate of the control plane on one machine."""

    name: str
    expires: datetime
    external: bool = False
    """Whether kubeadm does not have the key of its authority, and so cannot renew it."""


@dataclass(frozen=True)
class EtcdMember:
    """The member of etcd on one machine. The ids are those of etcd, as text."""

    member: str
    leader: str
    revision: int
    voters: tuple[str, ...] = ()
    """The names of all members that it counts for a majority; empty if it has not said."""

    @property
    def leads(self) -> bool:
        """Whether it is the leader."""
        return bool(self.member) and self.member == self.leader


@dataclass(frozen=True)
class MachineFault:
    """A thing for which a machine cannot be upgraded as it is, in the words of its role."""

    said: str
    remedy: str


@dataclass(frozen=True)
class MachineFacts:
    """One machine."""

    kubeadm: str
    """The version that is installed; empty without one."""
    certificates: tuple[KubeadmCertificate, ...] = ()
    etcd: EtcdMember | None = None
    """None if it runs no member, or that gave no answer."""
    under_way: bool | None = None
    """Whether something is at work on it that may restart it, as its role knows; None if that does not know."""
    faults: tuple[MachineFault, ...] = ()
    machine_id: str = ""
    """The content of `/etc/machine-id`; empty if it is not known."""


def is_at_rest(name: str, facts: Mapping[str, MachineFacts]) -> bool:
    """Whether the role of a machine has said that nothing is at work there."""
    return name in facts and facts[name].under_way is False


def facts_in(given: Mapping[str, Any]) -> dict[str, MachineFacts]:
    """The facts by machine, of those whose role has seen any.

    Raises:
        NotUnderstood: they are not as the role writes them.
    """
    return {name: _facts(name, each) for name, each in given.items() if each}


def _facts(name: str, item: Json) -> MachineFacts:
    with understood(
        lambda why: NotUnderstood.because(
            "machine_unreadable", f"The facts of machine {name} cannot be read: {why}.", _REMEDY
        )
    ):
        etcd = part(item, "etcd", {})
        return MachineFacts(
            kubeadm=plain(text(item, "kubeadm", "")),
            certificates=listed(item, "certificates", _certificate, ()),
            etcd=_etcd(etcd) if etcd else None,
            faults=listed(item, "faults", lambda each: MachineFault(text(each, "said"), text(each, "remedy")), ()),
            machine_id=machine_id_in(text(item, "machine_id", "")),
            under_way=flag(item, "under_way", default=False) if "under_way" in item else None,
        )


def _etcd(item: Json) -> EtcdMember:
    return EtcdMember(text(item, "member"), text(item, "leader"), whole(item, "revision"), texts(item, "voters", ()))


_REMEDY = "Use a role (upgrade_member_role) whose step look sets member_machine as it is documented."


def _certificate(item: Json) -> KubeadmCertificate:
    said = text(item, "expires")
    expires = datetime.fromisoformat(said.replace("Z", "+00:00"))
    if expires.tzinfo is None:
        raise Unreadable(f"is {said}, without its offset from UTC", "expires")
    return KubeadmCertificate(text(item, "name"), expires, flag(item, "external", default=False))
