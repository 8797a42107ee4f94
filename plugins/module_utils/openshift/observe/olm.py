"""The operators that the Operator Lifecycle Manager (OLM) has installed, as far as they name a last OpenShift."""

from __future__ import annotations

import json
import re

from ...common.errors import Refusal
from ...common.reading import Json, text, text_map, within
from ...kubernetes.answers import is_not_found, reading_object
from ...kubernetes.client import KubernetesClient
from .state import OlmOperator

OPERATORS_OF_OLM = "/apis/operators.coreos.com/v1alpha1/clusterserviceversions"
NOT_COPIED = "!olm.copiedFrom"
"""OLM copies an operator for all namespaces into each of them."""
PROPERTIES, LAST = "olm.properties", "olm.maxOpenShiftVersion"
_VERSION = re.compile(r"v?(\d+)\.(\d+)(?:\..*)?")


def operators_of_olm(client: KubernetesClient) -> tuple[OlmOperator, ...]:
    """The operators that name one; none where the cluster has no OLM.

    Raises:
        Refusal: the user may not list them, or an answer is not understood.
    """
    try:
        found = client.list_as(OPERATORS_OF_OLM, olm_operator, NOT_COPIED)
    except Refusal as error:
        if not is_not_found(error):
            raise
        return ()
    return tuple(each for each in found if each is not None)


def olm_operator(item: Json) -> OlmOperator | None:
    """An operator; None if it names no version, or none that can be read, for which OLM lets no update begin itself.
    Of several the greatest counts (operator-lifecycle-manager, `maxOpenShiftVersion` in
    `pkg/controller/operators/openshift/helpers.go`)."""
    with reading_object("ClusterServiceVersion", item):
        notes = within(item, "metadata", lambda data: text_map(data, "annotations"))
        name = within(item, "metadata", lambda data: f"{text(data, 'namespace', '')}/{text(data, 'name')}")
    try:
        properties = json.loads(notes.get(PROPERTIES, "[]"))
    except ValueError:
        return None
    known = [each for each in properties if isinstance(each, dict)] if isinstance(properties, list) else []
    named = [_VERSION.fullmatch(str(each.get("value", "")).strip('"')) for each in known if each.get("type") == LAST]
    versions = [(int(each[1]), int(each[2])) for each in named if each is not None]
    return OlmOperator(name, max(versions)) if versions else None
