# SPDX-License-Identifier: GPL-3.0-or-later
"""One lab for all scenarios."""

from tests.lab.fixtures import lab

__all__ = ["lab"]
