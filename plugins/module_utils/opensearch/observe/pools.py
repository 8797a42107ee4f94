# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pools of StatefulSets as both sides, Kubernetes and OpenSearch, see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...kubernetes.state import Budget, Pod, StatefulSet
from .data_paths import DataPaths
from .state import ClusterState


@dataclass(frozen=True)
class Seen:
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
