"""One look at Longhorn: every list that a judgement needs, asked for side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ...common.errors import refusal
from ...common.reading import listed, part, text
from ...kubernetes.answers import all_of
from ...kubernetes.answers import reading as reading_answer
from ...kubernetes.client import KubernetesClient
from ...kubernetes.paths import CORE
from ...kubernetes.pods import pod_path
from ...pools.pull_pod import Model
from . import reading
from .kinds import (
    ATTACHMENTS,
    BACKUPS,
    DEFAULT_IMAGE,
    ENGINES,
    FRONTENDS,
    INSTANCE_MANAGERS,
    NODES,
    REPLICAS,
    RUN,
    SETTINGS,
    SNAPSHOTS,
    VOLUMES,
)
from .listing import all_objects
from .state import KubernetesNode, Longhorn

_MANAGER = "instance-manager"
PULLS = "longhorn"
"""The value of the label on throw-away pods, by which they are found."""
AT_ONCE = 4
"""Lists that are asked for at the same time."""
_READ: Mapping[str, tuple[str, Callable[..., Any]]] = {
    NODES: ("Longhorn node", reading.node),
    VOLUMES: ("Volume", reading.volume),
    ENGINES: ("Engine", reading.engine),
    FRONTENDS: ("EngineFrontend", reading.frontend),
    REPLICAS: ("Replica", reading.replica),
    INSTANCE_MANAGERS: ("InstanceManager", reading.instance_manager),
    SETTINGS: ("Setting", reading.setting),
    BACKUPS: ("Backup", reading.backup),
    ATTACHMENTS: ("VolumeAttachment", reading.attachment),
}


def look(client: KubernetesClient, namespace: str) -> Longhorn:
    """Longhorn now. Each list is of one time, however long it is.

    Instance managers are listed before everything else. Whatever starts in one after that changes it, and an instance
    manager is removed only as it was listed: so nothing runs in it that the rest of the look could not show.

    Raises:
        Refusal: an answer cannot be had or understood, or no Longhorn is in this namespace.
    """

    def listed(kind: str) -> tuple[Any, ...]:
        called, read = _READ[kind]
        return all_of(called, all_objects(client, namespace, kind), read, client.kept)

    managers = listed(INSTANCE_MANAGERS)
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        asked = {kind: pool.submit(listed, kind) for kind in _READ if kind != INSTANCE_MANAGERS}
        snapshots = pool.submit(all_objects, client, namespace, SNAPSHOTS, RUN)
        kubernetes_nodes = pool.submit(_kubernetes_nodes, client)
        found = {kind: each.result() for kind, each in asked.items()}
        ours = all_of("Snapshot", snapshots.result(), reading.snapshot, client.kept)
        of_kubernetes = kubernetes_nodes.result()
    if not found[SETTINGS]:
        raise refusal(
            "longhorn_missing",
            f"Namespace {namespace} has no settings of Longhorn, so Longhorn is not installed there.",
            "Correct namespace (upgrade_namespace): it is the one in which longhorn-manager runs.",
        )
    return Longhorn(
        namespace=namespace,
        nodes={each.name: each for each in found[NODES]},
        volumes={each.name: each for each in found[VOLUMES]},
        engines=found[ENGINES],
        frontends=found[FRONTENDS],
        replicas=found[REPLICAS],
        managers=managers,
        settings={name: value for name, value, _undo in found[SETTINGS]},
        snapshots=ours,
        backups=found[BACKUPS],
        attachments=found[ATTACHMENTS],
        kubernetes_nodes={each.name: each for each in of_kubernetes},
        settings_with_undo=frozenset(name for name, _value, undo in found[SETTINGS] if undo),
    )


def image_of(seen: Longhorn) -> str:
    """The image that every instance manager should run.

    Raises:
        Refusal: Longhorn does not say.
    """
    image = seen.settings.get(DEFAULT_IMAGE, "")
    if not image:
        raise refusal(
            "image_unknown",
            f"The setting {DEFAULT_IMAGE} of Longhorn is empty, so it is not known what to upgrade to.",
            "Wait until longhorn-manager has started, which sets it.",
        )
    return image


def model_of_managers(client: KubernetesClient, namespace: str, node: str) -> Model:
    """The pods of instance managers, known from those of one node, as the model of throw-away pods.

    Longhorn makes all of them with the same pull secrets, pull policy and tolerations, from its settings. Their
    container is privileged, which a throw-away pod need not be.

    With a policy that pulls, the image is pulled by them before the old instance manager goes, and not while the node
    has none.
    """
    pods = client.list(pod_path(namespace), f"longhorn.io/component={_MANAGER},longhorn.io/node={node}")
    with reading_answer("about a Pod of an instance manager"):
        specs = [part(each, "spec") for each in pods]
        policies = [listed(each, "containers", lambda found: text(found, "imagePullPolicy", "")) for each in specs]
    spec = dict(specs[0]) if specs else {}
    policy = next((each for each in policies[0] if each), "") if policies else ""
    container = {"name": _MANAGER, **({"imagePullPolicy": policy} if policy else {})}
    return Model(namespace, _MANAGER, PULLS, {**spec, "containers": [container]}, _MANAGER, "Longhorn")


def _kubernetes_nodes(client: KubernetesClient) -> tuple[KubernetesNode, ...]:
    return all_of("Kubernetes node", client.list(f"{CORE}/nodes"), reading.kubernetes_node, client.kept)
