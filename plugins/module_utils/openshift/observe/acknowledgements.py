"""The acknowledgements that OpenShift asks its administrators for before another minor version."""

from __future__ import annotations

import re

from ...common.reading import text_map
from ...common.release import Release
from ...kubernetes.answers import reading_object
from ...kubernetes.client import KubernetesClient
from .state import AdminGate

GATES = "/api/v1/namespaces/openshift-config-managed/configmaps/admin-gates"
ACKS = "/api/v1/namespaces/openshift-config/configmaps/admin-acks"
_GATE = re.compile(r"ack-(\d+)\.(\d+)-[^-]")


def open_gates(client: KubernetesClient, present: Release) -> tuple[AdminGate, ...]:
    """The gates of the present minor version that are not acknowledged.

    A gate names the minor version that it lets out of, and only the value `true` acknowledges it
    (`pkg/risk/adminack/adminack.go` of cluster-version-operator).

    Raises:
        Refusal: the user may not read them, or they are not understood.
    """
    given, wanted = _data(client, ACKS), _data(client, GATES)
    return tuple(
        AdminGate(name, said)
        for name, said in sorted(wanted.items())
        if _applies(name, present) and given.get(name) != "true"
    )


def _applies(name: str, present: Release) -> bool:
    found = _GATE.match(name)
    return found is not None and (int(found[1]), int(found[2])) == (present.major, present.minor)


def _data(client: KubernetesClient, path: str) -> dict[str, str]:
    found = client.get(path)
    if found is None:
        return {}
    with reading_object("ConfigMap", found):
        return text_map(found, "data")
