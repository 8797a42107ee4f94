"""The definitions of the unverified kinds, as strict as those of the module."""

from __future__ import annotations

from tests.sandbox.kubernetes.objects import Json, Kind
from tests.sandbox.longhorn.kinds import CONTROLS, DATA_ENGINE_UPGRADES, MANAGER_UPGRADES, NODE_UPGRADES

_TEXT: Json = {"type": "string"}
_NUMBER: Json = {"type": "integer"}
_YES: Json = {"type": "boolean"}


def _object(**properties: Json) -> Json:
    return {"type": "object", "properties": properties}


def _map(value: Json) -> Json:
    return {"type": "object", "additionalProperties": value, "nullable": True}


def _list(value: Json) -> Json:
    return {"type": "array", "items": value, "nullable": True}


_SAID = {"ownerID": _TEXT, "state": _TEXT, "message": _TEXT, "errorMessage": _TEXT}
_PLACE = _object(state=_TEXT, message=_TEXT, errorMessage=_TEXT)
_NODE = _object(
    state={"type": "string", "enum": ["pending", "in-progress", "completed", "failed"]},
    imuName=_TEXT,
    retryCount=_NUMBER,
    startedAt=_TEXT,
    completedAt=_TEXT,
    errorMsg=_TEXT,
)


def _definition(kind: Kind, short: str, spec: Json, status: Json) -> Json:
    schema = _object(apiVersion=_TEXT, kind=_TEXT, metadata={"type": "object"}, spec=spec, status=status)
    names = {"kind": kind.kind, "listKind": f"{kind.kind}List", "plural": kind.plural, "singular": kind.kind.lower()}
    version = {"name": kind.version, "served": True, "storage": True, "subresources": {"status": {}}}
    metadata = {"name": kind.resource, "annotations": {"upgrade.stateful/unverified": "true"}}
    body: Json = {"group": kind.group, "scope": "Namespaced", "names": {**names, "shortNames": [short]}}
    body["versions"] = [{**version, "schema": {"openAPIV3Schema": schema}}]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": body,
    }


def of_the_design() -> list[Json]:
    """`DataEngineUpgradeManager` and `NodeDataEngineUpgrade`."""
    told = _object(**_SAID, instanceManagerImage=_TEXT, upgradingNode=_TEXT, upgradeNodes=_map(_PLACE))
    wanted = _object(nodeID=_TEXT, dataEngine=_TEXT, instanceManagerImage=_TEXT, dataEngineUpgradeManager=_TEXT)
    return [
        _definition(DATA_ENGINE_UPGRADES, "lhum", _object(dataEngine=_TEXT, nodes=_list(_TEXT)), told),
        _definition(NODE_UPGRADES, "lhnu", wanted, _object(**_SAID, volumes=_map(_PLACE))),
    ]


def of_v1_13() -> list[Json]:
    """`InstanceManagerUpgrade` and `InstanceManagerUpgradeControl`."""
    state: Json = {"type": "string"}
    engine = _object(originalNodeID=_TEXT, temporaryNodeID=_TEXT)
    told = _object(
        ownerID=_TEXT,
        state=state,
        engines=_map(engine),
        plannedDetachedReplicas=_list(_TEXT),
        startedAt=_TEXT,
        abortRequested=_YES,
        abortReason=_TEXT,
        errorMsg=_TEXT,
    )
    return [
        _definition(MANAGER_UPGRADES, "lhimu", _object(nodeID=_TEXT, targetImage=_TEXT), told),
        _definition(
            CONTROLS,
            "lhimuc",
            _object(targetImage=_TEXT, startAt=_TEXT),
            _object(ownerID=_TEXT, currentNode=_TEXT, nodes=_map(_NODE)),
        ),
    ]
