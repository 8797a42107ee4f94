"""The kinds of resources that the server knows, and those that CustomResourceDefinitions add."""

from __future__ import annotations

from collections.abc import Iterator

from tests.sandbox.kubernetes.objects import Json, Kind

_RBAC = "rbac.authorization.k8s.io"
PODS = Kind("", "v1", "pods", "Pod", status=True, generations=True)
NODES = Kind("", "v1", "nodes", "Node", namespaced=False, status=True)
NAMESPACES = Kind("", "v1", "namespaces", "Namespace", namespaced=False, status=True)
SERVICES = Kind("", "v1", "services", "Service", status=True)
EVENTS = Kind("", "v1", "events", "Event")
CONFIG_MAPS = Kind("", "v1", "configmaps", "ConfigMap")
SECRETS = Kind("", "v1", "secrets", "Secret")
SERVICE_ACCOUNTS = Kind("", "v1", "serviceaccounts", "ServiceAccount")
QUOTAS = Kind("", "v1", "resourcequotas", "ResourceQuota", status=True)
LIMIT_RANGES = Kind("", "v1", "limitranges", "LimitRange")
PRIORITY_CLASSES = Kind(
    "scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False, generations=True
)
CLAIMS = Kind("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", status=True)
VOLUMES = Kind("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False, status=True)
STATEFUL_SETS = Kind("apps", "v1", "statefulsets", "StatefulSet", status=True, scale=True, generations=True)
REVISIONS = Kind("apps", "v1", "controllerrevisions", "ControllerRevision")
BUDGETS = Kind("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", status=True, generations=True)
LEASES = Kind("coordination.k8s.io", "v1", "leases", "Lease")
ROLES = Kind(_RBAC, "v1", "roles", "Role")
ROLE_BINDINGS = Kind(_RBAC, "v1", "rolebindings", "RoleBinding")
CLUSTER_ROLES = Kind(_RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False)
CLUSTER_ROLE_BINDINGS = Kind(_RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False)
STORAGE_CLASSES = Kind("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False)
DEFINITIONS = Kind(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
    status=True,
    generations=True,
)
_BUILT_IN = (
    PODS,
    NODES,
    NAMESPACES,
    SERVICES,
    EVENTS,
    CONFIG_MAPS,
    SECRETS,
    SERVICE_ACCOUNTS,
    CLAIMS,
    VOLUMES,
    Kind("", "v1", "endpoints", "Endpoints"),
    QUOTAS,
    LIMIT_RANGES,
    STATEFUL_SETS,
    REVISIONS,
    Kind("apps", "v1", "deployments", "Deployment", status=True, scale=True, generations=True),
    Kind("apps", "v1", "replicasets", "ReplicaSet", status=True, scale=True, generations=True),
    Kind("apps", "v1", "daemonsets", "DaemonSet", status=True, generations=True),
    Kind("batch", "v1", "jobs", "Job", status=True, generations=True),
    Kind("batch", "v1", "cronjobs", "CronJob", status=True, generations=True),
    Kind("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", status=True),
    BUDGETS,
    LEASES,
    Kind("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", generations=True),
    ROLES,
    ROLE_BINDINGS,
    CLUSTER_ROLES,
    CLUSTER_ROLE_BINDINGS,
    STORAGE_CLASSES,
    Kind("storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment", namespaced=False, status=True),
    PRIORITY_CLASSES,
    Kind("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", generations=True),
    Kind("networking.k8s.io", "v1", "ingresses", "Ingress", status=True, generations=True),
    DEFINITIONS,
)


class Kinds:
    """All kinds that are served now."""

    def __init__(self) -> None:
        self._known = {(each.group, each.version, each.plural): each for each in _BUILT_IN}
        self._schemas: dict[Kind, tuple[Json, int]] = {}
        """The schema of each custom kind, and the version of its definition."""

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        """The kind at this place of the API."""
        return self._known.get((group, version, plural))

    def named(self, api_version: str, kind: str) -> Kind | None:
        """The kind that objects with these two fields are of, whatever their version."""
        group = api_version.rpartition("/")[0]
        return next((each for each in self if each.group == group and each.kind == kind), None)

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._known.values())

    def schema(self, kind: Kind) -> Json | None:
        """The openAPIV3Schema of a custom kind."""
        return self._schemas[kind][0] if kind in self._schemas else None

    def defined_at(self, kind: Kind) -> int:
        """The version of all objects at which a custom kind was last defined."""
        return self._schemas[kind][1]

    def define(self, definition: Json) -> None:
        """Serve what a CustomResourceDefinition describes, and nothing that it described before."""
        self.forget(definition)
        spec = definition["spec"]
        for version in spec["versions"]:
            if not version.get("served", True):
                continue
            subresources = version.get("subresources", {})
            kind = Kind(
                spec["group"],
                version["name"],
                spec["names"]["plural"],
                spec["names"]["kind"],
                namespaced=spec["scope"] == "Namespaced",
                status="status" in subresources,
                scale="scale" in subresources,
                generations=True,
                custom=True,
            )
            self._known[kind.group, kind.version, kind.plural] = kind
            schema = version.get("schema", {}).get("openAPIV3Schema", {})
            self._schemas[kind] = (schema, int(definition["metadata"]["resourceVersion"]))

    def forget(self, definition: Json) -> None:
        """No longer serve it."""
        spec = definition["spec"]
        for each in [each for each in self if each.key == (spec["group"], spec["names"]["plural"])]:
            del self._known[each.group, each.version, each.plural]
            self._schemas.pop(each, None)
