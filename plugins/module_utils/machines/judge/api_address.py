"""Whether the API stays reachable at its address while machines of the control plane are upgraded. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from ipaddress import ip_address
from urllib.parse import urlsplit

from ...common.verdict import Reason, as_verdict, remark
from ..observe.state import KubeadmCluster


@as_verdict
def judge_api_address(seen: KubeadmCluster, going: Collection[str]) -> Iterator[Reason]:
    """Whether an address of the API is that of one machine, although the control plane has several.

    A control plane of one machine takes consent (`judge_quorum`). A name that only DNS knows counts as that of a load
    balancer.

    Args:
        seen: The cluster, with its endpoint, and the address at which the run reaches it.
        going: The machines that are upgraded.
    """
    if len(seen.control_plane) < 2:
        return
    behind, reached = _machine_at(seen, seen.endpoint), _machine_at(seen, seen.server)
    if behind in going:
        yield remark(
            "api_behind_one_machine",
            f"controlPlaneEndpoint ({seen.endpoint}) is the address of machine {behind}, and of no load balancer, so"
            f" the API is away for some minutes while {behind} is upgraded.",
        )
    if reached in going and reached != behind:
        yield remark(
            "connected_to_one_machine",
            f"This run reaches the API at {seen.server}, the address of machine {reached} alone, so it waits while"
            f" {reached} is upgraded.",
            f"Set kubernetes (upgrade_kubernetes) to a kubeconfig with controlPlaneEndpoint ({seen.endpoint})."
            if seen.endpoint
            else "",
        )


def _machine_at(seen: KubeadmCluster, address: str) -> str:
    """The machine of the control plane that has this address or name; empty if none has."""
    host = _host_of(address)
    return next(
        (
            name
            for name in seen.control_plane
            if host and host in {_plain(each) for each in (name, *seen.machines[name].addresses)}
        ),
        "",
    )


def _host_of(address: str) -> str:
    """The host of a URL, or of a host with or without a port."""
    with suppress(ValueError):
        return _plain(urlsplit(address if "//" in address else f"//{address}").hostname or "")
    return ""


def _plain(host: str) -> str:
    """A host as it is compared: an address of IPv6 has several forms."""
    with suppress(ValueError):
        return str(ip_address(host))
    return host.lower()
