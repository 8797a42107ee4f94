"""Users who make indices all along, whatever is done to the cluster."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

SHAPE = {"settings": {"number_of_shards": 1, "number_of_replicas": 1}}
EVERY = 7.0
"""Seconds between two of them: some fall between two members, and a busy machine still starts every replica in time."""


class IndexLoad:
    """As long as this block lasts, an index is made every few seconds; `made` are their names."""

    def __init__(self, ask: Callable[[str, str, Any], str]) -> None:
        self.made: list[str] = []
        self._ask = ask
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._make, daemon=True)

    def _make(self) -> None:
        number = 0
        while not self._over.wait(EVERY):
            number += 1
            name = f"made-under-load-{number:04d}"
            try:
                self._ask(f"/{name}?wait_for_active_shards=0", "PUT", SHAPE)
            except OSError:
                continue  # The member asked is just going down, and whether it was made is not known.
            self.made.append(name)

    def __enter__(self) -> IndexLoad:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
