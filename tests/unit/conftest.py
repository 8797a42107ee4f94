"""Property-based tests have no deadline: the time of an example says nothing on a busy machine.

Their examples are the same each time, so that a change is judged by what it changes. New ones are looked for by
`make unit ARGS="--hypothesis-profile search"`.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=1_000)
settings.load_profile("same")


@pytest.fixture
def uncollected() -> Iterator[None]:
    """No garbage is collected in a test: one that nests to the limit has no depth left for a finalizer of another.

    Such a finalizer (urllib3 closes the connections of a pool in one) would fail with a RecursionError that is no one's
    fault, and pytest would give it to whichever test it happened in.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
