"""The processes of pods in memory: a container of a server is a member, any other one just runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.plugins import END, LIST
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.configuration_file import settings_in
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.settings_table import rule_of

from tests.lab.elasticsearch.homes import LOCKED
from tests.lab.opensearch.layouts import CONFIGURATION
from tests.lab.opensearch.locks import locked_versions
from tests.sandbox.clock import Clock
from tests.sandbox.kubeadm.description import COMPONENTS, DNS, PROXY
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.opensearch.cluster import Cluster
from tests.sandbox.opensearch.image import ZONE, member_of
from tests.sandbox.opensearch.model import Durations

IMAGES = {"opensearch": locked_versions(), "elasticsearch": [*LOCKED]}
"""The versions of the lab by image."""


class Members:
    """Every OpenSearch cluster of a sandbox, by namespace and name, with the pod of each member."""

    def __init__(
        self, clock: Clock, zone_of: Callable[[str], str], address_of: Callable[[str, str], str], durations: Durations
    ) -> None:
        self._clock = clock
        self._zone_of = zone_of
        self._address_of = address_of
        self.durations = durations
        self.read: Callable[[Json, str], bytes | None] = lambda _pod, _path: None
        """The content of a mounted file of a pod; None if there is none."""
        self.plugins: dict[str, Mapping[str, str]] = {}
        """The plugins in the image of a version, each with the version that it was built for."""
        self._clusters: dict[tuple[str, str], Cluster] = {}
        self._of_pod: dict[str, Cluster] = {}
        """By the UID of the pod whose process is a member."""

    def clusters_in(self, namespace: str) -> list[Cluster]:
        """The clusters of a namespace whose members have started."""
        return [cluster for (where, _name), cluster in self._clusters.items() if where == namespace]

    def started(self, pod: Json, _container: str) -> None:
        """The process of a pod's container starts."""
        environment = environment_of(pod)
        if environment is None:
            return
        metadata = pod["metadata"]
        environment |= self._configuration(pod) or {}
        key = (metadata["namespace"], environment.get("cluster.name", "opensearch"))
        cluster = self._clusters.setdefault(key, Cluster(self._clock, key[1], self.durations))
        self._of_pod[metadata["uid"]] = cluster
        address = self._address_of(metadata["namespace"], metadata["name"])
        environment[ZONE] = self._zone_of(pod["spec"]["nodeName"])
        version = image_of(pod["spec"]["containers"][0]["image"])[1]
        plugins = tuple(self.plugins.get(version, {}))
        cluster.start(member_of(metadata["name"], version, address, _data_key(pod), environment, plugins))

    def stopping(self, pod: Json, _container: str) -> None:
        """The process of a pod was asked to end (SIGTERM)."""
        cluster = self.cluster_of(pod)
        if cluster is not None:
            cluster.stop(pod["metadata"]["name"])

    def stopped(self, pod: Json, _container: str) -> None:
        """The process of a pod is gone, however it ended."""
        cluster = self._of_pod.pop(pod["metadata"]["uid"], None)
        if cluster is not None:
            cluster.kill(pod["metadata"]["name"])

    def ready(self, pod: Json, _container: str) -> bool:
        """Whether the REST port of the pod's member answers; anything else is ready as soon as it runs."""
        cluster = self.cluster_of(pod)
        return cluster is None or cluster.ready(pod["metadata"]["name"])

    def exit_code(self, pod: Json, _container: str) -> int | None:
        """The exit code of a container that has nothing to do, as in the pods that pull an image."""
        if _is_configured(pod):
            return None if self._configuration(pod) is not None else 1
        return 0 if (pod["spec"]["containers"][0].get("command") or [""])[0] in {"true", "sh"} else None

    def message(self, pod: Json, _container: str) -> str:
        """The termination log of the pods that list plugins: those of the image, which a shell would find."""
        container = pod["spec"]["containers"][0]
        if LIST not in (container.get("command") or ()):
            return ""
        there = self.plugins.get(image_of(container["image"])[1], {})
        return "\n".join([*(f"{name} {version}" for name, version in there.items()), END])

    def log(self, pod: Json, _container: str, _previous: bool) -> list[str]:
        """The lines that the process of a pod has written."""
        cluster = self.cluster_of(pod)
        said = cluster.said(pod["metadata"]["name"]) if cluster else ""
        if _is_configured(pod) and self._configuration(pod) is None:
            return [
                "java.lang.IllegalArgumentException: unknown setting, or one that is not valid",
                "\tat org.opensearch.bootstrap.OpenSearch.main(OpenSearch.java:104)",
            ]
        return [f"{pod['metadata']['name']} has started", *([said] if said else [])]

    def _configuration(self, pod: Json) -> dict[str, str] | None:
        """The settings in the mounted file of a pod; None if its server would not start with them."""
        if not _is_configured(pod):
            return {}
        content = self.read(pod, f"{CONFIGURATION}/{pod['metadata']['name']}")
        try:
            settings = settings_in((content or b"").decode(), "the member")
        except Refusal:
            return None
        known = all(rule_of(name).source or name.startswith("node.attr.") for name in settings)
        return settings if content and known else None

    def cluster_of(self, pod: Json) -> Cluster | None:
        """The cluster in which the pod's process is a member; none where it runs something else, or nothing."""
        return self._of_pod.get(pod["metadata"]["uid"])


def environment_of(pod: Json) -> dict[str, str] | None:
    """The variables of the container of a member; None where the pod holds no member."""
    container = pod["spec"]["containers"][0]
    if image_of(container["image"])[0] not in IMAGES or (container.get("command") and not _is_configured(pod)):
        return None
    return {each["name"]: each.get("value", "") for each in container.get("env") or []}


def _is_configured(pod: Json) -> bool:
    """Whether the member reads its settings from a mounted file, as those of a configured layout do."""
    return any(CONFIGURATION in word for word in pod["spec"]["containers"][0].get("command") or [])


def image_of(image: str) -> tuple[str, str]:
    """Name and version of an image; registry and path are ignored."""
    name, _colon, version = image.rpartition("/")[2].partition(":")
    return name, version


def pull_error(image: str) -> str:
    """The reason why an image cannot be pulled; empty if it can. There are the images of the lab, and no others."""
    name, version = image_of(image)
    known = {**IMAGES, "probe": ("1", "2"), "busybox": (version,)}
    known |= dict.fromkeys((*COMPONENTS, PROXY, DNS), (version,))
    known |= {"longhorn-instance-manager": (version,), "longhorn-share-manager": (version,)}
    return "" if version in known.get(name, ()) else f"{image}: not found"


def _data_key(pod: Json) -> str:
    """The claim that a member's data lies on, or the pod itself where it has no volume that lasts."""
    metadata = pod["metadata"]
    claims = [each["persistentVolumeClaim"]["claimName"] for each in pod["spec"].get("volumes") or [] if _claim(each)]
    return f"{metadata['namespace']}/{claims[0] if claims else metadata['uid']}"


def _claim(volume: Json) -> bool:
    return "persistentVolumeClaim" in volume
