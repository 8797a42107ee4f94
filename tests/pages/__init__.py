# SPDX-License-Identifier: GPL-3.0-or-later
"""Pages of the documentation that are made by the collection's own code."""
