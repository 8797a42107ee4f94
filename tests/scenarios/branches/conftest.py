# SPDX-License-Identifier: GPL-3.0-or-later
"""Every branch, fault and kill on servers in memory; with `STATEFUL_UPGRADE_GROUND=lab` on real ones (`make soak`)."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.sandbox.sandbox import Sandbox
from tests.scenarios.ground import Ground

REAL = os.environ.get("STATEFUL_UPGRADE_GROUND") == "lab"


@pytest.fixture(scope="session")
def ground(request: pytest.FixtureRequest) -> Iterator[Ground]:
    """The servers in memory, or the lab."""
    if REAL:
        yield request.getfixturevalue("lab")
        return
    with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture(scope="session", autouse=True)
def images(request: pytest.FixtureRequest) -> None:
    """The servers, which only the lab needs."""
    if REAL:
        request.getfixturevalue("servers")
