# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation site: docs/ as pages, the reference of plugins and roles, and their pictures."""
