"""The work of the part `file_integrity`: the baseline of each FileIntegrity is made again after an upgrade.

An upgrade changes files of every Kubernetes node. The File Integrity Operator makes the baseline again once it sees
`RE_INIT`, and takes that annotation away (`pkg/controller/fileintegrity/fileintegrity_controller.go` of
file-integrity-operator; empty means every Kubernetes node). So a second annotation, written in the same request, says
for which upgrade that was asked for. All others stay.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..common.arguments import CONNECTIONS, WAIT
from ..common.attempts import until_unchanged
from ..common.errors import Refusal
from ..common.reading import part, text, text_map
from ..common.task import Contract, Outcome, Task
from ..common.verdict import Verdict, refused
from ..kubernetes.answers import reading_object
from ..kubernetes.client import Items, Json, KubernetesClient, connect
from ..kubernetes.paths import in_namespace

GROUP, RESOURCE = "fileintegrity.openshift.io", "fileintegrities"
API = f"/apis/{GROUP}/v1alpha1"
RE_INIT = "file-integrity.openshift.io/re-init"
ASKED_FOR = "upgrade.stateful/file-integrity-of"
"""The annotation with the version of the upgrade for which the baseline was made again last."""
ATTEMPTS = 10
CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **WAIT,
        "wait_timeout": {"type": "int", "default": 120},
        "target_version": {"type": "str", "required": True},
    },
)


def run(task: Task) -> Outcome:
    """Ask for it at each FileIntegrity, unless that was done for this upgrade."""
    client, version = connect(task.params["kubernetes"]), task.params["target_version"]
    task.ask(lambda: until_unchanged(lambda: _ask_for_all(task, client, version), ATTEMPTS))
    return Outcome(Verdict(), bool(task.journal.as_result()))


def file_integrities(client: KubernetesClient) -> Items:
    """All of the cluster; none where the API does not know the kind."""
    try:
        return client.list(f"{API}/{RESOURCE}")
    except Refusal as error:
        if any(reason.code != "kubernetes_not_found" for reason in error.verdict.reasons):
            raise
        return []


def judge_there(found: Iterable[Json]) -> Verdict:
    """Whether there is any."""
    if any(True for _each in found):
        return Verdict()
    said = "The cluster has no FileIntegrity, so no baseline can be made again after the upgrade (fedramp)."
    remedy = "Install the File Integrity Operator, or do not ask for it (upgrade_fedramp)."
    return Verdict((refused("file_integrity_missing", said, remedy),))


def _ask_for_all(task: Task, client: KubernetesClient, version: str) -> None:
    for item in file_integrities(client):
        with reading_object("FileIntegrity", item):
            metadata = part(item, "metadata")
            namespace, name = text(metadata, "namespace"), text(metadata, "name")
            asked, seen = text_map(metadata, "annotations").get(ASKED_FOR), text(metadata, "resourceVersion")
        if asked != version:
            body: Json = {"metadata": {"resourceVersion": seen, "annotations": {RE_INIT: "", ASKED_FOR: version}}}
            path = in_namespace(API, namespace, RESOURCE, name)
            _annotate(task, client, f"FileIntegrity {namespace}/{name}", path, body)


def _annotate(task: Task, client: KubernetesClient, target: str, path: str, body: Json) -> None:
    task.act("renew_baseline", target, lambda: client.patch(path, body, "merge"))
