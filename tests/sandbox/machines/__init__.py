# SPDX-License-Identifier: GPL-3.0-or-later
"""Cluster API in memory: MachineDeployments, their machines and Kubernetes nodes."""
