# SPDX-License-Identifier: GPL-3.0-or-later
"""The process kubelet: Kubernetes nodes that run the containers of pods as plain processes."""
