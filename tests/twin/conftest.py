# SPDX-License-Identifier: GPL-3.0-or-later
"""The fixtures that the twin tests share."""

from __future__ import annotations

import pytest

from .stage import Stage


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """A place where playbooks run both ways."""
    return Stage(tmp_path_factory.mktemp("twin"))
