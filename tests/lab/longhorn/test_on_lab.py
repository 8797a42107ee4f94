# SPDX-License-Identifier: GPL-3.0-or-later
"""The stand-in controllers beside the real API server."""

from __future__ import annotations

from tests.lab.lab import Lab
from tests.lab.longhorn.test_longhorn import upgrade_by_hand


def test_a_node_is_upgraded_by_hand_on_the_real_api_server(lab: Lab) -> None:
    upgrade_by_hand(lab, lab.directory / "logs")
