# SPDX-License-Identifier: GPL-3.0-or-later
"""A Kubernetes API server in memory, with stand-ins for the controllers."""
