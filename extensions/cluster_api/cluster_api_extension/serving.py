"""The two listeners of the service, and its housekeeping."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from datetime import timedelta

from aiohttp import web

from .kubernetes_api import Conflict, Unanswered
from .policy import ExternalRule, Policy
from .service import LOG, HookService, utc_now
from .store import Store
from .tls import ServerTls, TlsFiles, TlsProblem

HOUSEKEEPING = 60.0
"""Seconds between two looks at the certificates."""
SWEEPS = 60
"""Looks at the certificates between two sweeps of old tasks."""
LONGEST = 30.0
"""The most seconds of an answer; see `time_for`."""
KEPT = timedelta(days=30)
"""Time for which a task that is done, or whose Machine is gone, is kept after its request."""


@dataclass(frozen=True)
class Served:
    """The certificates, the address and the ports of the service; port 0 is one that is free."""

    files: TlsFiles
    host: str
    port: int
    health_port: int


async def serve(policy: Policy, store: Store, served: Served, stop: asyncio.Event) -> None:
    """Serves until `stop` is set.

    Raises:
        OSError: a port or a certificate cannot be had.
    """
    tls = ServerTls(served.files)
    service = HookService(policy, store)
    servers: list[web.Server | None] = []
    async with contextlib.AsyncExitStack() as stack:
        for made, port, context in (
            (service.application(), served.port, tls.context),
            (service.health(), served.health_port, None),
        ):
            runner = web.AppRunner(made, access_log=None)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            await web.TCPSite(runner, served.host or None, port, ssl_context=context).start()
            servers.append(runner.server)
        LOG.info("serving hooks on port %d", served.port)
        await keep_house(tls, store, stop, policy.external, servers[0])


async def end_former(tls: ServerTls, server: web.Server) -> None:
    """Ends the connections that were made with former certificates, each after the answer to a request in progress."""
    made = [(each, each.transport.get_extra_info("ssl_object")) for each in server.connections if each.transport]
    # A connection that is being closed has no certificates any more.
    former = [each for each, connection in made if connection is not None and tls.is_former(connection)]
    for each in former:
        each.close()
    # It waits for a request in progress, and for an idle connection only without the line before.
    await asyncio.gather(*(each.shutdown(LONGEST) for each in former))


async def keep_house(
    tls: ServerTls,
    store: Store,
    stop: asyncio.Event,
    external: ExternalRule,
    server: web.Server | None,
    pause: float = HOUSEKEEPING,
) -> None:
    """Takes renewed certificates, and deletes old tasks, until `stop` is set."""
    looks = 0
    while not stop.is_set():
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(stop.wait(), pause)
        looks += 1
        try:
            if tls.renew():
                LOG.info("the certificates were renewed")
            if server is not None:
                # Each time: a caller may have taken its time to open one while they were renewed.
                await end_former(tls, server)
            if looks % SWEEPS == 0 and (old := await store.sweep(utc_now(), KEPT)):
                LOG.info("%d old tasks were deleted", old)
            due = looks % SWEEPS == 0 and external.upgrade_task
            if due and (old := await store.upgrade_tasks.sweep(external.upgrade_tasks_kept)):
                LOG.info("%d old UpgradeTasks were deleted", old)
        except (Conflict, OSError, Unanswered, TlsProblem) as error:
            LOG.warning("housekeeping: %s", error)
