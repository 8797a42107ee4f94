# SPDX-License-Identifier: GPL-3.0-or-later
"""The servers in memory against real ones: the same story is told to both, and both have to answer the same."""
