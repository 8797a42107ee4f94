"""Cases of which `make test` takes some, and `make soak` the others: kills behind other acts prove the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def one_in(each: int, cases: Iterable[Any]) -> list[Any]:
    """The cases as parameters, of which `make test` takes the first one of `each`."""
    return [
        pytest.param(case, marks=() if place % each == 0 else (pytest.mark.soak,), id=str(case))
        for place, case in enumerate(cases)
    ]
