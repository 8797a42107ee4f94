"""The figures of an upgrade, written whenever its record is: into a text file, to a push gateway, or both.

The escaping of labels, the atomic file and the groups of a push gateway are the work of the package
`prometheus-client`, which is imported only if figures are asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...common.errors import Refusal, refusal
from ...common.packages import needed
from ...common.task import Task
from ...monitoring.server import Server
from .measures import HELP, PREFIX, Measure, measures_of
from .record_keeping import Nowhere, RecordStore
from .reporting_store import ReportingStore

JOB = "stateful_upgrade"
Publisher = Callable[[str, Callable[[], Sequence[Measure]]], None]


def measured(task: Task, store: RecordStore) -> RecordStore:
    """The store with the figures of its records published, if the task says where.

    Raises:
        Refusal: the address of the push gateway cannot be used.
    """
    publish = publisher_of(task)
    if publish is None or isinstance(store, Nowhere):
        return store
    return ReportingStore(store, lambda name, kept: publish(name, lambda: measures_of(kept.record())))


def publisher_of(task: Task) -> Publisher | None:
    """A function that publishes figures under a name; None if the task does not say where.

    No upgrade stops because they cannot be published.

    Raises:
        Refusal: the address of the push gateway cannot be used.
    """
    path, gateway = task.params.get("metrics_path"), task.params.get("push_gateway") or {}
    if not (path or gateway.get("url")):
        return None
    server = Server("push_gateway", gateway) if gateway.get("url") else None

    def publish(name: str, measures: Callable[[], Sequence[Measure]]) -> None:
        try:
            published(name, measures(), task.params.get("namespace") or "", path, server)
        except Refusal as error:
            task.warn(f"The metrics were not written. {error.verdict.reasons[0].message}")

    return publish


def published(name: str, measures: Sequence[Measure], namespace: str, path: str | None, gateway: Server | None) -> None:
    """Write the figures of the upgrade of this name, replacing those that were written for it before.

    Raises:
        Refusal: the package is missing, the file cannot be written, or the push gateway does not take them.
    """
    client = needed("prometheus_client", "prometheus-client")
    registry = client.CollectorRegistry()
    own = {"upgrade": name, "namespace": namespace}
    for each in HELP:
        found = [measure for measure in measures if measure.name == each]
        if found:
            gauge = client.Gauge(f"{PREFIX}_{each}", HELP[each], [*own, *found[0].labels], registry=registry)
            for measure in found:
                gauge.labels(**own, **measure.labels).set(measure.value)
    if path:
        _write(client, registry, Path(os.path.expanduser(path)) / f"{name}.prom")
    if gateway is not None:
        # One group for each upgrade, which is replaced as a whole (PUT).
        client.push_to_gateway(gateway.host, JOB, registry, {"upgrade": name}, handler=_handler(gateway, name))


def _write(client: Any, registry: Any, file: Path) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        client.write_to_textfile(str(file), registry)
    except OSError as error:
        raise refusal(
            "metrics_file_unusable",
            f"The file {file} cannot be written: {error.strerror or error}.",
            "Correct the folder, or its rights (metrics_path).",
        ) from error


def _handler(gateway: Server, name: str) -> Callable[..., Callable[[], None]]:
    """The handler for the official client: it sends with the proxy, the trust and the limit of all other requests."""

    def handler(headers: Sequence[tuple[str, str]], data: bytes, **_ours: Any) -> Callable[[], None]:
        return lambda: gateway.put(f"/metrics/job/{JOB}/upgrade/{name}", data, dict(headers))

    return handler
