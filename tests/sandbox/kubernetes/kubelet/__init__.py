# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubelets: containers that start, become Ready, fail and stop, all on virtual time."""
