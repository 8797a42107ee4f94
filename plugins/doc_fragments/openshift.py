"""Options of the upgrade of OpenShift: those about maintenance windows and spare workers."""

from __future__ import annotations


class ModuleDocFragment:
    """A part of `OPTIONS` in openshift/planning."""

    DOCUMENTATION = r"""
options:
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
    description: Whether MachineSets of workers have spare ones during the upgrade.
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
      - With V(stop) a MachineSet that cannot have a spare one is refused.
      - With V(continue) it is named in a remark, and the others have theirs.
    type: str
    choices: [stop, continue]
    default: stop
"""
