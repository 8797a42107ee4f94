# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rights in Kubernetes that extra machines need: those of the shipped Role."""

from __future__ import annotations

from ..kubernetes.rights import Right
from .observe.state import DEPLOYMENTS, GROUP, MACHINES

ROLE = (
    *(Right(verb, GROUP, DEPLOYMENTS) for verb in ("get", "patch")),
    *(Right(verb, GROUP, MACHINES) for verb in ("list", "patch")),
)
"""The rights in the namespace of the MachineDeployments. The right to list pods is needed in that of the members."""
