"""An UpgradeTask as a document, for clusters whose API has no definition of it: a file, a ConfigMap or a URL.

It has the fields of the object, and the record of the run has its phases: Aborted stands for Abort, Completed for
Complete, and each other phase for Ongoing. The server would refuse unknown fields; here they are faults.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..common.packages import needed
from ..common.reading import whole_part
from ..kubernetes.answers import reading_object
from ..run.start.request import Request, read_request
from .judge.upgrade_task import faults_in, variables_of
from .observe.reading_tasks import upgrade_task
from .observe.state import IDENTITY
from .observe.upgrade_tasks import GROUP, OBJECTS, SPECIFIED_VERSION, UPGRADE_TASK, VERSION, UpgradeTaskState
from .upgrade_task import SYSTEM

_REFERENCE = dict.fromkeys(("apiVersion", "kind", "namespace", "name", "uid"))
_SPECIFICATION = dict.fromkeys((SPECIFIED_VERSION, *OBJECTS))
_MACHINE = {"name": None, "namespace": None, "nodeName": None, "machineSpec": _SPECIFICATION}
_FIELDS: Mapping[str, Any] = {
    "apiVersion": None,
    "kind": None,
    "metadata": None,
    "spec": {
        "phase": None,
        **dict.fromkeys(("cluster", "controlPlaneRef", "machineDeploymentRef"), _REFERENCE),
        "machinesRequireUpgrade": _MACHINE,
        "newMachineSpec": _SPECIFICATION,
        "template": {"upgraderRef": _REFERENCE, "covers": None},
    },
}
"""The fields that a document may have; None for those with any content."""


def task_in_document(document: str, where: str) -> UpgradeTaskState | None:
    """The UpgradeTask that a document is; None if it is a request of another form.

    Raises:
        Refusal: it cannot be read.
    """
    if read_request(document, where).variables.get("kind") != UPGRADE_TASK:
        return None
    # A time or a date is a text, as in JSON.
    found = json.loads(json.dumps(needed("yaml", "PyYAML").safe_load(document), default=str))
    with reading_object(UPGRADE_TASK, found):
        metadata = {"name": where, "uid": where, **whole_part(found.get("metadata") or {})}
    return upgrade_task({**found, "metadata": metadata})


def requested_by_document(document: str, where: str, request: Request) -> Request:
    """The request that an UpgradeTask as document is; see `DocumentReader`.

    Raises:
        Refusal: it cannot be read.
    """
    seen = task_in_document(document, where)
    if seen is None:
        return request
    faults = (*_unknown(seen.raw), *faults_in(seen), *request.faults)
    asked = replace(request, type=SYSTEM, variables=variables_of(seen), owner=seen.owner, members=seen.kubernetes_nodes)
    return replace(asked, cluster=IDENTITY, faults=faults, aborted=seen.ends)


def _unknown(document: Mapping[str, Any]) -> Iterator[str]:
    if document.get("apiVersion") != f"{GROUP}/{VERSION}":
        yield f"apiVersion of the {UPGRADE_TASK} is not {GROUP}/{VERSION}: correct it."
    for path in _beyond(document, _FIELDS, ""):
        yield f"{path} is not a field of an {UPGRADE_TASK}: take it out of the request."


def _beyond(found: Any, known: Mapping[str, Any] | None, path: str) -> Iterator[str]:
    if known is None:
        return
    for each in found if isinstance(found, list) else [found]:
        for name, value in each.items() if isinstance(each, Mapping) else ():
            if name not in known:
                yield f"{path}{name}"
            else:
                yield from _beyond(value, known[name], f"{path}{name}.")
