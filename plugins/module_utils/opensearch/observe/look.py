"""All that is seen in one look: of a cluster by a gate, and of both sides of a cluster whose members are pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...kubernetes.state import Budget, Pod, StatefulSet
from .certificates import Certificate
from .configured import Configured
from .data_paths import DataPaths
from .disk import Disks
from .explanation import Explanation
from .index_filters import IndexFilters
from .last_snapshot import Saved
from .managed_indices import Managed
from .recoveries import UNKNOWN, Recoveries
from .settings import Settings
from .state import ClusterState, Health
from .tasks import LongTask


@dataclass(frozen=True)
class Look:
    """All that a gate sees in one look. A part that none of its checks needs is empty."""

    state: ClusterState
    health: Health
    settings: Settings
    explanations: tuple[Explanation, ...] = ()
    disks: Disks = field(default_factory=Disks)
    tasks: tuple[LongTask, ...] = ()
    recoveries: Recoveries = UNKNOWN
    certificates: tuple[Certificate, ...] = ()
    """Those that members have shown by then."""
    configured: Configured | None = None
    managed: Managed | None = None
    filters: Mapping[str, IndexFilters] = field(default_factory=dict)
    """Those of the indices that have any, by name."""
    saved: Saved | None = None
    """The last snapshot; None if it was not asked for."""


@dataclass(frozen=True)
class MembersAndPods:
    """Both sides of the cluster: the sets and their pods, and the members as the cluster state has them."""

    sets: tuple[StatefulSet, ...]
    pods: Mapping[str, tuple[Pod, ...]]
    """Pods by the name of their set, in the order of their names."""
    state: ClusterState
    everyone: tuple[Pod, ...] = ()
    """All pods of the namespace, of any owner."""
    others: tuple[StatefulSet, ...] = ()
    """The other sets of the namespace, which are not planned for."""
    budgets: tuple[Budget, ...] = ()
    paths: DataPaths = field(default_factory=dict)
    """The data paths of the members."""
