"""The load of a cluster: documents and traffic on real servers, their indices alone on those in memory."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tests.lab.traffic import Traffic, check, seed
from tests.lab.traffic.budgets import Budget
from tests.lab.traffic.documents import INDICES, index_body
from tests.scenarios.cluster import Cluster


@contextlib.contextmanager
def loaded(cluster: Cluster, directory: Path, budget: Budget, replicas: int | None = None) -> Iterator[None]:
    """Indices, and traffic as long as the block lasts. It fails where more of it failed than the budget has."""
    if cluster.platform.real:
        seed(cluster.target, directory, documents=1_000)
    else:
        for index in INDICES:
            cluster.ask(f"/{index}", "PUT", index_body())
    if replicas is not None:
        cluster.ask(f"/{','.join(INDICES)}/_settings", "PUT", {"index": {"number_of_replicas": replicas}})
    cluster.until_green()
    if not cluster.platform.real:
        yield
        return
    with Traffic.start(cluster.target, directory) as traffic:
        yield
        traffic.stop()
    report = check(cluster.target, directory)
    print(report.table())
    report.keeps(budget)
