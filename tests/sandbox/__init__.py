# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers in memory that answer as the real ones do, on a clock that tests may move."""
