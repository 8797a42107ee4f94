"""The UpgradeTask that an ExternalUpgrade asks for, those of the same owner, and their state. Pure: no I/O.

The definition is `roles/machines/files/upgrade_task.yml` of the collection, whose playbook `machines` carries it out.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .bodies import success
from .coverage import SPEC, covered
from .documents import CLEAR, LABEL
from .external import HOOK, declined, desired_of, machines_of
from .fields import Json, differences, same, shown
from .policy import OBJECTS, Policy
from .tasks import CLUSTER_API, DEPLOYMENT, Task, TaskState, reply

API_VERSION, KIND, PLURAL = "upgrade.stateful/v1alpha1", "UpgradeTask", "upgradetasks"
SUPERSEDED = "upgrade.stateful/superseded"
"""The annotation of an UpgradeTask that another request has aborted. One without it was aborted by a person."""
MADE_BY, MAKER = "upgrade.stateful/made-by", "cluster-api-extension"
"""The label of an UpgradeTask that the service has made, and its value."""
CONTROL_PLANE_REF, DEPLOYMENT_REF = "controlPlaneRef", "machineDeploymentRef"
ABORT, COMPLETE = "Abort", "Complete"
FIELDS = {"bootstrapConfig": "bootstrapConfig", "infrastructureMachine": "infraMachine"}
"""The objects of a request by their names in the specification of a machine."""
REQUESTED = ("cluster", CONTROL_PLANE_REF, DEPLOYMENT_REF, "machinesRequireUpgrade", "newMachineSpec")
"""The fields that say what is requested. The others say how, which a policy may change later."""
DIGEST = 16
"""The characters of the digest in a name, which is not longer than the value of a label."""
_VERSION = re.compile(r"v?\d+\.\d+\.\d+\S*")

Owner = tuple[str, str, str]
"""The namespace of an owner, the field of an UpgradeTask that names it, and its name."""


@dataclass(frozen=True)
class Asked:
    """What a request asks for. With faults it is declined, and `spec` may be incomplete."""

    namespace: str
    owners: frozenset[Owner]
    spec: Json
    faults: tuple[str, ...]


@dataclass(frozen=True)
class Present:
    """The UpgradeTasks of the same owner: that of the request, those to abort, and those of the same request before."""

    own: Json | None
    others: tuple[Json, ...]
    aborted: tuple[str, ...]
    """The names of those of this request that a person has aborted, or is deleting."""
    before: tuple[str, ...]
    """The UIDs of those of this request that are over: another one has superseded them, or was made since."""


def asked_of(machines: Sequence[Json], body: Json, policy: Policy) -> Asked:
    """The UpgradeTask that a request asks for; `machines` are its Machines as they are now, in the same order.

    Raises:
        BadBody: the request cannot be read.
    """
    desired = [desired_of(each, body) for each in machines_of(body)]
    references = [_owner(each) for each in machines]
    owners = frozenset((each["namespace"], field, each["name"]) for field, each in references if each)
    versions = sorted({str(each["machine"]["spec"].get("version") or "") for each in desired})
    faults = [*_faults_of_owner(machines, owners), *_faults_of_machines(machines), *_uncarried(body, policy)]
    if len(versions) != 1 or not _VERSION.fullmatch(versions[0]):
        faults.append(
            "The machines would not all have one version such as v1.36.1: give newMachineSpec.machine.version."
        )
    named = [name for name in FIELDS if name in body["newMachineSpec"]]
    objects = {name: [_content(each[name]) for each in desired] for name in named}
    for name, contents in objects.items():
        faults += _unequal(name, contents)
    template = _template(policy, named)
    metadata, (field, owner) = machines[0]["metadata"], references[0]
    cluster: Json = {"apiVersion": CLUSTER_API, "kind": "Cluster", "namespace": metadata["namespace"]}
    spec: Json = {
        "cluster": {**cluster, "name": machines[0]["spec"]["clusterName"]},
        field: owner,
        "machinesRequireUpgrade": sorted(map(_requested, machines), key=lambda each: each["name"]),
        "newMachineSpec": {"version": versions[0], **{FIELDS[name]: each[0] for name, each in objects.items()}},
        **({"template": template} if template else {}),
    }
    return Asked(str(metadata["namespace"]), owners, spec, tuple(dict.fromkeys(faults)))


def _owner(machine: Json) -> tuple[str, Json]:
    """The field of an UpgradeTask that names the owner of a Machine, and the reference, empty without an owner."""
    metadata = machine["metadata"]
    namespace = {"namespace": metadata["namespace"]}
    if name := (metadata.get("labels") or {}).get(DEPLOYMENT):
        return DEPLOYMENT_REF, {"apiVersion": CLUSTER_API, "kind": "MachineDeployment", **namespace, "name": name}
    found = [each for each in metadata.get("ownerReferences") or () if each.get("controller")]
    # A MachineSet without a MachineDeployment is no owner that an UpgradeTask can name.
    return CONTROL_PLANE_REF, next(
        (
            {"apiVersion": each["apiVersion"], "kind": each["kind"], **namespace, "name": each["name"]}
            for each in found
            if each["kind"] != "MachineSet"
        ),
        {},
    )


def _faults_of_owner(machines: Sequence[Json], owners: frozenset[Owner]) -> Iterator[str]:
    if without := [each["metadata"]["name"] for each in machines if not _owner(each)[1]]:
        yield f"No control plane and no MachineDeployment owns {', '.join(without)}: leave them out."
    if len(owners) > 1:
        names = ", ".join(sorted(name for _namespace, _field, name in owners))
        yield f"The machines belong to several owners ({names}): request those of each by themselves."


def _faults_of_machines(machines: Sequence[Json]) -> Iterator[str]:
    if without := [each["metadata"]["name"] for each in machines if not _node(each)]:
        yield f"Without a Kubernetes node (status.nodeRef) are {', '.join(without)}: request them once they have one."
    names = [each["metadata"]["name"] for each in machines]
    if twice := sorted({each for each in names if names.count(each) > 1}):
        yield f"The request names {', '.join(twice)} more than once."


def _node(machine: Json) -> str:
    return str(((machine.get("status") or {}).get("nodeRef") or {}).get("name") or "")


def _requested(machine: Json) -> Json:
    metadata = machine["metadata"]
    return {"name": metadata["name"], "namespace": metadata["namespace"], "nodeName": _node(machine)}


def _uncarried(body: Json, policy: Policy) -> Iterator[str]:
    """The fields of a Machine that the request changes, and an UpgradeTask cannot have."""
    names = {name: name for name in OBJECTS}
    for machine in machines_of(body):
        for each in covered(machine, desired_of(machine, body), policy, names, SPEC).changes.get("machine", ()):
            if each.path != ("spec", "version"):
                yield f"An UpgradeTask has no field for machine.{shown(each.path)}: leave it out."


def _content(item: Json) -> Json:
    """The parts of an object that say how a machine is made, without the one that its provider writes."""
    spec = {name: value for name, value in item["spec"].items() if name != "providerID"}
    return {**{name: item[name] for name in ("apiVersion", "kind") if name in item}, "spec": spec}


def _unequal(name: str, contents: Sequence[Json]) -> Iterator[str]:
    """A fault if the machines would have different objects. It names fields and no values, which may be secrets."""
    found = {shown(each.path) for other in contents[1:] for each in differences(contents[0], other)}
    if found:
        fields = ", ".join(f"{name}.{each}" for each in sorted(found))
        yield f"An UpgradeTask has one {name} for all, and the machines would differ in {fields}: request them singly."


def _template(policy: Policy, named: Sequence[str]) -> Json:
    """The upgrader of the policy, and its allow-list for the objects of the request as patterns of an UpgradeTask."""
    # A name with a dot cannot be written in a pattern, so that a run declines the change.
    paths = [
        ".".join((FIELDS[name], *path))
        for name in named
        for path in policy.fields[name]
        if not any("." in each for each in path)
    ]
    covers = [pattern for path in paths for pattern in (path, f"{path}.**")]
    upgrader = dict(policy.external.upgrader)
    return {**({"upgraderRef": upgrader} if upgrader else {}), **({"covers": covers} if covers else {})}


def present_in(listed: Sequence[Json], asked: Asked) -> Present:
    """The UpgradeTasks of the owners of a request among those that were read.

    One that is complete answers the request only if it is the last of its owner: another one may have undone it.
    """
    of_owner = sorted((each for each in listed if owner_of(each) in asked.owners), key=age_of)
    own: Json | None = None
    others, aborted, before = list[Json](), list[str](), list[str]()
    for each in of_owner:
        metadata = each["metadata"]
        if not _is_request(each, asked):
            others += [each] if is_open(each) else []
        elif is_aborted(each) and SUPERSEDED not in (metadata.get("annotations") or {}):
            aborted.append(metadata["name"])
        elif is_aborted(each) or (not is_open(each) and each is not of_owner[-1]):
            before.append(metadata["uid"])
        else:
            own = each
    return Present(own, tuple(others), tuple(aborted), tuple(before))


def owner_of(task: Json) -> Owner | None:
    """The owner that an UpgradeTask names; None if it names none."""
    spec = task["spec"]
    around = (spec.get("cluster") or {}).get("namespace") or task["metadata"]["namespace"]
    found = [(field, spec[field]) for field in (CONTROL_PLANE_REF, DEPLOYMENT_REF) if spec.get(field)]
    return next(((each.get("namespace") or around, field, each.get("name", "")) for field, each in found), None)


def is_made(task: Json) -> bool:
    """Whether the service has made an UpgradeTask, and not a person."""
    return bool((task["metadata"].get("labels") or {}).get(MADE_BY) == MAKER)


def digest_of_task(task: Json) -> str:
    """The digest of what an UpgradeTask wants. That of the service never changes; a person may change any."""
    metadata = task["metadata"]
    return str(metadata["uid"]) if is_made(task) else f"{metadata['uid']}.{metadata.get('generation', 1)}"


def is_aborted(task: Json) -> bool:
    """Whether an UpgradeTask was aborted, or is being deleted, which aborts it as well."""
    return bool(task["metadata"].get("deletionTimestamp")) or ABORT in (task["spec"].get("phase"), phase_of(task))


def is_open(task: Json) -> bool:
    """Whether a run may still work on an UpgradeTask."""
    return not is_aborted(task) and phase_of(task) != COMPLETE


def _is_request(task: Json, asked: Asked) -> bool:
    return same(*({name: spec.get(name) for name in REQUESTED} for spec in (task["spec"], asked.spec)))


def phase_of(task: Json) -> str:
    """The phase in the status of an UpgradeTask; empty before a run has written one."""
    return str((task.get("status") or {}).get("phase") or "")


def age_of(task: Json) -> tuple[str, str]:
    """The age of an UpgradeTask, for an order in which the oldest is the first."""
    return str(task["metadata"].get("creationTimestamp") or ""), str(task["metadata"]["name"])


def upgrade_task_of(asked: Asked, before: Sequence[str], listed: Sequence[Json]) -> Json:
    """The UpgradeTask of a request. Its name is that of the owner, and a digest of what is wanted.

    `before` has the UIDs of those of the same request that are over, so that it gets another name than they have, and
    than one that a person has changed since.
    """
    uids = {each["metadata"]["name"]: each["metadata"]["uid"] for each in listed}
    name = _name(asked, before)
    while name in uids:
        before = [*before, uids.pop(name)]
        name = _name(asked, before)
    metadata = {"name": name, "namespace": asked.namespace, "labels": {MADE_BY: MAKER}}
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": {**asked.spec, "phase": "Ongoing"}}


def _name(asked: Asked, before: Sequence[str]) -> str:
    wanted = {name: asked.spec.get(name) for name in REQUESTED}
    content = json.dumps([wanted, sorted(before)], sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(content.encode()).hexdigest()[:DIGEST]
    ((_namespace, _field, owner),) = asked.owners
    return f"{owner[: LABEL - DIGEST - 1].rstrip('-.')}-{digest}"


def superseded(task: Json) -> Json:
    """The change that aborts an UpgradeTask for another request, over the version that was read."""
    guard = {name: task["metadata"][name] for name in ("uid", "resourceVersion")}
    return {"metadata": {**guard, "annotations": {SUPERSEDED: "true"}}, "spec": {"phase": ABORT}}


def outlived(listed: Sequence[Json], kept: int) -> list[Json]:
    """The UpgradeTasks that may be deleted: complete, made by the service, and older than the last `kept` of an owner.

    Any other may still be worked on, and deleting it would abort its upgrade.
    """
    complete: dict[Owner, list[Json]] = {}
    for each in sorted(listed, key=age_of):
        owner, own = owner_of(each), is_made(each) and not each["metadata"].get("deletionTimestamp")
        if own and owner is not None and phase_of(each) == COMPLETE:
            complete.setdefault(owner, []).append(each)
    return [each for tasks in complete.values() for each in tasks[: max(0, len(tasks) - kept)]]


def progress_of(task: Json, record: Task | None, namespace: str) -> Json:
    """The answer with the state of an UpgradeTask, from its status and from the record of its runs in a namespace.

    It is declined if its run has declined it for good.
    """
    metadata, phase = task["metadata"], phase_of(task)
    called = f"UpgradeTask {metadata['namespace']}/{metadata['name']}"
    conditions: Mapping[str, Json] = {each["type"]: each for each in (task.get("status") or {}).get("conditions") or ()}
    accepted, progress = (conditions.get(name, {}) for name in ("Accepted", "MachineUpToDate"))
    clearing = ""
    if record is not None:
        clearing = f"kubectl annotate -n {namespace} configmap/{record.wanted.task_name} {CLEAR}=NAME"
        if record.state is TaskState.FAILED and accepted.get("status") == "False":
            message = accepted.get("message") or record.reason
            return declined(f"The run has declined {called}: {message} Fix it, then {clearing}, and request it again.")
    said = [_said(record, clearing) if record is not None else "", str(progress.get("message") or "")]
    return success(HOOK, f"{called} ({phase or 'not started'}): {' '.join(filter(None, said))}", result="Accept")


def _said(record: Task, clearing: str) -> str:
    if record.state is TaskState.DONE:
        return "Its run has ended as done, and has not written that it is complete."
    return str(reply(record, record.wanted, clearing)["message"])
