"""A container with the image of the server, as the member that it becomes: settings are environment variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tests.sandbox.opensearch.model import MemberSpec
from tests.sandbox.opensearch.values import names_of

ZONE = "LAB_ZONE"
"""The variable with the zone of the Kubernetes node."""
EVERYTHING = ("cluster_manager", "data", "ingest", "remote_cluster_client")
"""The roles of a member that is given none."""
QUIET = {"cluster.routing.allocation.disk.threshold_enabled": "false"}
"""The settings that the images of the lab have by themselves: all members share one disk, whose owner is another."""

_SETTING = re.compile(r"[a-z][a-z0-9_]*(\.[a-zA-Z0-9_-]+)+")
_ATTRIBUTE = "node.attr."
_MANAGERS = ("cluster.initial_cluster_manager_nodes", "cluster.initial_master_nodes")


def member_of(
    name: str,
    version: str,
    address: str,
    data_key: str,
    environment: Mapping[str, str],
    plugins: tuple[str, ...] = (),
) -> MemberSpec:
    """The member that a container becomes; what is no setting in its environment is left out."""
    given: dict[str, Any] = {key: value for key, value in environment.items() if _SETTING.fullmatch(key)}
    settings = {**QUIET, **given}
    roles = settings.pop("node.roles", None)
    attributes = {
        key.removeprefix(_ATTRIBUTE): settings.pop(key) for key in list(settings) if key.startswith(_ATTRIBUTE)
    }
    if environment.get(ZONE):
        attributes.setdefault("zone", environment[ZONE])
    managers = [each for key in _MANAGERS for each in names_of(_listed(settings.get(key, "")))]
    return MemberSpec(
        name=str(settings.get("node.name", name)),
        version=version,
        address=address,
        data_key=data_key,
        roles=EVERYTHING if roles is None else tuple(names_of(_listed(roles))),
        attributes=attributes,
        settings={key: value for key, value in settings.items() if value and key != "cluster.name"},
        plugins=plugins,
        initial_managers=tuple(managers),
    )


def _listed(value: str) -> str:
    """A list without the brackets that some write around it."""
    return value.strip().removeprefix("[").removesuffix("]")
