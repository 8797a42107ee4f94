"""The entry: `python -m cluster_api_extension serve`."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import signal
import ssl
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import yaml
from aiohttp import web

from .kubernetes_api import Access, Conflict, KubernetesApi, Unanswered, in_cluster
from .policy import Policy, PolicyError, policy_of
from .service import LOG, HookService, utc_now
from .store import Store
from .tls import ServerTls, TlsFiles

HOUSEKEEPING = 60.0
"""Seconds between two looks at the certificates."""
SWEEPS = 60
"""Looks at the certificates between two sweeps of old tasks."""
KEPT = timedelta(days=30)
"""Time for which a task that is done is kept after its request."""


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(prog="cluster_api_extension", description="A runtime extension of Cluster API.")
    parser.add_argument("command", choices=["serve"], help="serve: answer the hooks of Cluster API")
    parser.add_argument("--policy", type=Path, required=True, help="the file of the policy, in YAML")
    parser.add_argument("--certificate", type=Path, required=True, help="the certificate of the service")
    parser.add_argument("--key", type=Path, required=True, help="its key")
    parser.add_argument("--client-ca", type=Path, required=True, help="the authority of the callers' certificates")
    parser.add_argument("--namespace", default=os.environ.get("POD_NAMESPACE", ""), help="the namespace of the tasks")
    parser.add_argument("--host", default="", help="the address to listen at; by default all")
    parser.add_argument("--port", type=int, default=9443, help="the port of the hooks")
    parser.add_argument("--health-port", type=int, default=8081, help="the port of /healthz and /readyz, without TLS")
    parser.add_argument("--api-server", default="", help="the API server, outside a pod")
    parser.add_argument("--token-file", type=Path, help="the token for it")
    parser.add_argument("--ca-file", type=Path, help="the authority of its certificate")
    found = parser.parse_args(given)
    if not found.namespace:
        parser.error("no namespace: give --namespace, or the environment variable POD_NAMESPACE")
    if found.api_server and not found.token_file:
        parser.error("--api-server needs --token-file")
    return found


def policy_in(path: Path) -> Policy:
    """The policy in a file.

    Raises:
        PolicyError: it cannot be used.
    """
    try:
        return policy_of(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, yaml.YAMLError) as error:
        raise PolicyError(f"The policy {path} cannot be read ({type(error).__name__}).") from error


async def serve(found: argparse.Namespace, policy: Policy, stop: asyncio.Event) -> None:
    """Serves until `stop` is set."""
    tls = ServerTls(TlsFiles(found.certificate, found.key, found.client_ca))
    access = Access(found.api_server, found.token_file, found.ca_file) if found.api_server else in_cluster()
    async with KubernetesApi(access) as api:
        store = Store(api, found.namespace)
        service = HookService(policy, store)
        runners = [
            web.AppRunner(service.application(), access_log=None),
            web.AppRunner(service.health(), access_log=None),
        ]
        for runner in runners:
            await runner.setup()
        try:
            await web.TCPSite(runners[0], found.host or None, found.port, ssl_context=tls.context).start()
            await web.TCPSite(runners[1], found.host or None, found.health_port).start()
            LOG.info("serving hooks on port %d", found.port)
            await keep_house(tls, store, stop)
        finally:
            for runner in runners:
                await runner.cleanup()


async def keep_house(tls: ServerTls, store: Store, stop: asyncio.Event, pause: float = HOUSEKEEPING) -> None:
    """Takes renewed certificates, and deletes old tasks, until `stop` is set."""
    looks = 0
    while not stop.is_set():
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(stop.wait(), pause)
        looks += 1
        try:
            if tls.renew():
                LOG.info("the certificates were renewed")
            if looks % SWEEPS == 0 and (old := await store.sweep(utc_now(), KEPT)):
                LOG.info("%d tasks that were done were deleted", old)
        except (Conflict, OSError, Unanswered, ssl.SSLError) as error:
            LOG.warning("housekeeping: %s", error)


async def until_stopped(found: argparse.Namespace, policy: Policy) -> None:
    """Serves until the process is asked to end."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    await serve(found, policy, stop)


def main(given: Sequence[str] | None = None) -> int:
    """Runs the service; gives the exit code."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    found = arguments(given)
    try:
        asyncio.run(until_stopped(found, policy_in(found.policy)))
    except (OSError, PolicyError, Unanswered, ssl.SSLError) as error:
        LOG.error("%s", error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
