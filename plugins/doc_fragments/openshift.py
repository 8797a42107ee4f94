"""Options of the upgrade of OpenShift: those about drains, maintenance windows and spare workers."""

from __future__ import annotations


class ModuleDocFragment:
    """A part of `OPTIONS` in openshift/planning."""

    DOCUMENTATION = r"""
options:
  allow_forced_drains:
    description:
      - Rungs by which pods are removed that hold a drain up. Pods of StatefulSets and pods with claims are never
        deleted, nothing is done to those of the platform, and no finalizer is removed. Each act is in the record.
    type: list
    elements: dict
    default: []
    suboptions:
      rung:
        description:
          - V(evict) evicts a pod again, as soon as its budgets let it go.
          - V(delete) deletes it with its grace period, V(delete_now) without any, whatever budgets say.
        type: str
        required: true
        choices: [evict, delete, delete_now]
      after:
        description: Seconds since the start of the drain, whatever becomes of a cordon or of a run.
        type: int
        required: true
      namespaces:
        description: The namespaces in which that is allowed, as patterns.
        type: list
        elements: str
        required: true
  control_plane_silences:
    description:
      - Selectors of the alerts that a run hides while the control plane is updated, if O(alertmanager) is given. The
        plan names them with its batches.
    type: list
    elements: str
    default:
      - "alertname=~\"ClusterOperatorDown|ClusterOperatorDegraded|KubeDeploymentReplicasMismatch|\
        MachineWithNoRunningPhase|etcdMembersDown\",namespace=~\"openshift.*|kube-.*|default\""
      - severity=~"warning|info",namespace=~"openshift.*|kube-.*|default"
  worker_silences:
    description:
      - Selectors of the alerts that a run hides while the Kubernetes nodes of the other pools are updated, if
        O(alertmanager) is given.
    type: list
    elements: str
    default: ['severity=~"warning|info",namespace=~"openshift.*|kube-.*|default"']
  extra_workers:
    description: Whether MachineSets of workers have spare ones for the time of the upgrade.
    type: bool
    default: false
  extra_worker_pools:
    description:
      - The pools whose MachineSets have spare ones, as patterns. A pool is that of the label
        C(hive.openshift.io/machine-pool), and without it the MachineConfigPool of the Kubernetes nodes.
    type: list
    elements: str
    default: [worker]
  capacity_policy:
    description:
      - With V(stop) a MachineSet that can have no spare one is refused.
      - With V(continue) it is named in a remark, and the others have theirs.
    type: str
    choices: [stop, continue]
    default: stop
"""
