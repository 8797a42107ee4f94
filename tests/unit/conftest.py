# SPDX-License-Identifier: GPL-3.0-or-later
"""Property-based tests have no deadline: how long an example takes says nothing on a busy machine."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
