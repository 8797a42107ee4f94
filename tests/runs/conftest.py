"""These tests need a process that was prepared before any other file of the tests was read."""

from __future__ import annotations

import sys

import pytest

if "tests.runs.prepared" not in sys.modules:
    raise pytest.UsageError("Run these tests with `make runs`, or with pytest -p tests.runs.prepared tests/runs.")
