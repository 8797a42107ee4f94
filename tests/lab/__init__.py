# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab: a real Kubernetes control plane and a process kubelet, without containers."""
