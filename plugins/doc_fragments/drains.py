"""The option about forced drains of an upgrade whose Kubernetes nodes are drained."""

from __future__ import annotations


class ModuleDocFragment:
    """`FORCED` in draining/judge/forced_drains."""

    DOCUMENTATION = r"""
options:
  allow_forced_drains:
    description:
      - Steps by which pods that block a drain are removed. Pods of StatefulSets and pods with claims are never
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
        description: Seconds since the start of the drain, over new cordons and runs.
        type: int
        required: true
      namespaces:
        description: The namespaces in which that is allowed, as patterns.
        type: list
        elements: str
        required: true
"""
