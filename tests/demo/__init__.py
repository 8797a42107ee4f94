# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo: a real cluster is upgraded under traffic while you watch."""
