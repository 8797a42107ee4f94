# SPDX-License-Identifier: GPL-3.0-or-later
"""The benchmark: the same upgrade in several ways, side by side."""
