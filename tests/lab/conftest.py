"""Makes the lab's fixtures known to the tests below."""

from __future__ import annotations

from tests.lab.fixtures import lab, namespace

__all__ = ["lab", "namespace"]
