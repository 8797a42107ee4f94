# SPDX-License-Identifier: GPL-3.0-or-later
"""A real Kubernetes control plane: one binary built once per machine, run as four processes."""
