"""``python -m tests.lab.elasticsearch [versions]``: fetches the servers into the cache."""

from __future__ import annotations

import sys
import time

from tests.lab.elasticsearch.homes import STOCKED, fetch_home
from tests.lab.errors import exit_code


def _fetch() -> None:
    for version in sys.argv[1:] or STOCKED:
        started = time.monotonic()
        print(f"Elasticsearch {version}: {fetch_home(version)} ({time.monotonic() - started:.1f} s)")


if __name__ == "__main__":
    sys.exit(exit_code(_fetch))
