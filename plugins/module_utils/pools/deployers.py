"""The programs that apply manifests, and would put their own image and strategy back. Pure.

They are known by the marks that they leave. Others are known by what they do (`put_back`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from ..common.verdict import Reason, Verdict, as_verdict, refused
from ..kubernetes.state import StatefulSet
from .judge import judge_controller


@dataclass(frozen=True)
class _Deployer:
    """A program that applies manifests, and would put its own image back."""

    key: str
    name: str
    managers: tuple[str, ...]
    labels: tuple[str, ...]
    annotations: tuple[str, ...]
    instead: str


_AFTERWARDS = "take the new image into its configuration before it is applied again"

# The outermost first: most of them render Helm charts, whose labels they leave in place. An add-on of k3s names its
# owner, which Fleet does not (wrangler, pkg/apply/desiredset.go); the other marks are those that each one's source
# writes, and its field manager where it has a name of its own.
_DEPLOYERS = (
    _Deployer(
        "argocd",
        "Argo CD",
        ("argocd",),
        ("argocd.argoproj.io/instance",),
        ("argocd.argoproj.io/tracking-id",),
        "switch off the automated sync of the application",
    ),
    _Deployer(
        "flux",
        "Flux",
        ("kustomize-controller", "helm-controller"),
        ("kustomize.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/name"),
        (),
        "suspend it (flux suspend)",
    ),
    _Deployer(
        "configsync",
        "Config Sync",
        ("configsync",),
        (),
        ("configsync.gke.io/resource-id", "configmanagement.gke.io/managed"),
        "stop the sync of the object (configmanagement.gke.io/managed: disabled)",
    ),
    _Deployer(
        "kapp",
        "kapp",
        ("kapp-server-side-apply",),
        ("kapp.k14s.io/app", "kapp.k14s.io/association"),
        ("kapp.k14s.io/identity",),
        "pause it (spec.paused of the App of kapp-controller)",
    ),
    _Deployer(
        "gardener",
        "The resource manager of Gardener",
        ("gardener-resource-manager",),
        ("resources.gardener.cloud/managed-by",),
        ("resources.gardener.cloud/origin",),
        "let it ignore the object (resources.gardener.cloud/ignore)",
    ),
    _Deployer(
        "crossplane",
        "Crossplane",
        ("apiextensions.crossplane.io/", "provider-kubernetes", "crossplane-kubernetes-provider"),
        ("crossplane.io/composite",),
        ("crossplane.io/composition-resource-name",),
        "pause it (annotation crossplane.io/paused)",
    ),
    _Deployer(
        "kubevela",
        "KubeVela",
        ("vela-core", "kubevela"),
        ("app.oam.dev/name", "app.oam.dev/component"),
        ("app.oam.dev/last-applied-configuration",),
        "suspend the application",
    ),
    _Deployer(
        "k3s",
        "The add-on controller of k3s",
        ("deploy@",),
        (),
        ("objectset.rio.cattle.io/owner-gvk",),
        "give its manifest the new image on every server of k3s",
    ),
    _Deployer(
        "fleet",
        "Rancher Fleet",
        ("fleetagent", "fleet-agent"),
        ("objectset.rio.cattle.io/hash",),
        ("objectset.rio.cattle.io/id",),
        "pause the bundle (spec.paused of the GitRepo)",
    ),
    _Deployer("terraform", "Terraform", ("Terraform", "terraform-", "HashiCorp", "OpenTofu"), (), (), _AFTERWARDS),
    _Deployer("pulumi", "Pulumi", ("pulumi-",), (), ("pulumi.com/autonamed",), _AFTERWARDS),
    _Deployer(
        "helm",
        "Helm",
        ("helm",),
        (),
        ("meta.helm.sh/release-name",),
        "take the new version into the values afterwards, so that the next helm upgrade does not go back; do that with"
        " the same chart, since a newer one also changes the pod template and starts a second roll, without gates",
    ),
)
DEPLOYERS = tuple(each.key for each in _DEPLOYERS)
"""The values of the option `allow_field_managers`."""


@as_verdict
def judge_deployer(pool: StatefulSet, allowed: Collection[str] = ()) -> Iterator[Reason]:
    """Whether one of the known deployers governs the pool's image or strategy, and the user has not allowed it."""
    found = next(((each, evidence) for each in _DEPLOYERS if (evidence := _evidence(each, pool))), None)
    if found and found[0].key not in allowed:
        deployer, evidence = found
        yield refused(
            "pool_deployed_by_another",
            f"{deployer.name} governs the image and strategy of StatefulSet {pool.name} ({evidence}).",
            f"Change the image there (with strategy OnDelete), or set allow_field_managers to [{deployer.key}]"
            f" and {deployer.instead}.",
        )


def judge_owner(pool: StatefulSet, allowed: Collection[str] = ()) -> Verdict:
    """`judge_controller` and `judge_deployer` in one."""
    return Verdict(judge_controller(pool).reasons + judge_deployer(pool, allowed).reasons)


def _evidence(deployer: _Deployer, pool: StatefulSet) -> str:
    for label in deployer.labels:
        if label in pool.labels:
            return f"label {label}={pool.labels[label]}"
    for annotation in deployer.annotations:
        if annotation in pool.annotations:
            return f"annotation {annotation}={pool.annotations[annotation].split(':')[0]}"
    for manager in pool.managers:
        if manager.startswith(deployer.managers):
            return f"field manager {manager}"
    return ""
