# SPDX-License-Identifier: GPL-3.0-or-later
"""Longhorn's stand-in controllers as a process beside the lab's real API server."""
