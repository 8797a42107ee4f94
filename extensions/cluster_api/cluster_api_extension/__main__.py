"""The entry: `python -m cluster_api_extension serve`, `… work -- COMMAND` for runs, `… gate -- COMMAND` for gates."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import yaml

from .claims import Claimant, Claims
from .gate_runs import GateRuns
from .kubernetes_api import Access, KubernetesApi, Unanswered, in_cluster
from .policy import Policy, PolicyError, policy_of
from .service import utc_now
from .serving import Served, serve
from .store import Store
from .tls import TlsFiles, TlsProblem
from .turns import Choice
from .worker import LOG, Worker


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(prog="cluster_api_extension", description="A runtime extension of Cluster API.")
    commands = parser.add_subparsers(dest="command", required=True)
    serving = commands.add_parser("serve", help="answer the hooks of Cluster API")
    serving.add_argument("--policy", type=Path, required=True, help="the file of the policy, in YAML")
    serving.add_argument("--certificate", type=Path, required=True, help="the certificate of the service")
    serving.add_argument("--key", type=Path, required=True, help="its key")
    serving.add_argument("--client-ca", type=Path, required=True, help="the authority of the callers' certificates")
    serving.add_argument("--host", default="", help="the address to listen at; by default all")
    serving.add_argument("--port", type=int, default=9443, help="the port of the hooks")
    serving.add_argument("--health-port", type=int, default=8081, help="the port of /healthz and /readyz, without TLS")
    working = commands.add_parser("work", help="carry out tasks by a command")
    working.add_argument("--once", action="store_true", help="end after one task, or if there is none")
    working.add_argument("--claim-seconds", type=int, default=60, help="seconds after which a claim not renewed ends")
    working.add_argument("--look-seconds", type=int, default=10, help="the time between two looks for a task")
    working.add_argument("--side-by-side", type=int, default=1, help="the most machines of one cluster at a time")
    working.add_argument("--upgrade-tasks", action="store_true", help="work on UpgradeTasks instead of single machines")
    working.add_argument(
        "--cluster", default="*", help="the Clusters of the UpgradeTasks, as a pattern of namespace/name"
    )
    working.add_argument("--policy", type=Path, help="the file of the policy, for its upgrader and the budget")
    working.add_argument(
        "--confirm-plan",
        action="store_true",
        help="the command is a playbook of stateful.upgrade: show its plan, and agree to exactly that plan",
    )
    working.add_argument("run", nargs="+", metavar="COMMAND", help="the command, with placeholders such as {version}")
    gating = commands.add_parser("gate", help="write the gate of a Cluster as a command says: exit code 0 is fit")
    gating.add_argument("--cluster", required=True, type=named_cluster, help="the Cluster, as namespace/name")
    gating.add_argument("--once", action="store_true", help="end after one look")
    gating.add_argument("--look-seconds", type=int, default=60, help="the time between two looks")
    gating.add_argument("--limit", type=int, default=300, help="seconds within which the command has to end")
    gating.add_argument("run", nargs="+", metavar="COMMAND", help="the command that looks at the database")
    for each in (serving, working, gating):
        each.add_argument("--namespace", default=os.environ.get("POD_NAMESPACE", ""), help="the namespace of the tasks")
        each.add_argument("--api-server", default="", help="the API server, outside a pod")
        each.add_argument("--token-file", type=Path, help="the token for it")
        each.add_argument("--ca-file", type=Path, help="the authority of its certificate")
    found = parser.parse_args(given)
    if not found.namespace:
        parser.error("no namespace: give --namespace, or the environment variable POD_NAMESPACE")
    if found.api_server and not found.token_file:
        parser.error("--api-server needs --token-file")
    return found


def named_cluster(given: str) -> tuple[str, str]:
    """The namespace and the name of a Cluster.

    Raises:
        ValueError: one is missing.
    """
    namespace, _slash, name = given.partition("/")
    if not namespace or not name or "/" in name:
        raise ValueError(given)
    return namespace, name


def policy_in(path: Path) -> Policy:
    """The policy in a file.

    Raises:
        PolicyError: it cannot be used.
    """
    try:
        return policy_of(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, yaml.YAMLError) as error:
        raise PolicyError(f"The policy {path} cannot be read ({type(error).__name__}).") from error


def access_of(found: argparse.Namespace) -> Access:
    """The access to the API server: as given, or that of this pod."""
    return Access(found.api_server, found.token_file, found.ca_file) if found.api_server else in_cluster()


async def until_stopped(found: argparse.Namespace) -> None:
    """Serves or works until the process is asked to end."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with KubernetesApi(access_of(found)) as api:
        store = Store(api, found.namespace)
        if found.command == "serve":
            files = TlsFiles(found.certificate, found.key, found.client_ca)
            await serve(policy_in(found.policy), store, Served(files, found.host, found.port, found.health_port), stop)
        elif found.command == "gate":
            await keep_gate(found, store, stop)
        else:
            await work(found, api, store, stop)


async def keep_gate(found: argparse.Namespace, store: Store, stop: asyncio.Event) -> None:
    """Looks again and again whether the Cluster is fit. A look in progress is finished before the process ends."""
    runs = GateRuns(store, found.cluster, found.run, found.limit, utc_now)

    async def look() -> bool:
        await runs.look_once()
        return False

    await repeated(look, found, stop)


async def work(found: argparse.Namespace, api: KubernetesApi, store: Store, stop: asyncio.Event) -> None:
    """Carries out task after task. The process finishes a task in progress before it ends."""
    holder = f"{socket.gethostname()}-{os.getpid()}"
    policy = policy_in(found.policy) if found.policy else Policy()
    choice = Choice(found.cluster, policy.external.upgrader, policy.budget)
    claimant = Claimant(holder, found.claim_seconds, found.side_by_side, found.upgrade_tasks, choice)
    claims = Claims(api, store, claimant, utc_now)
    worker = Worker(claims, found.run, found.claim_seconds, utc_now, confirms=found.confirm_plan)
    await repeated(worker.work_once, found, stop)


async def repeated(look: Callable[[], Awaitable[bool]], found: argparse.Namespace, stop: asyncio.Event) -> None:
    """Looks again and again until the process is asked to end, at once after a look that gives that there may be more.

    Raises:
        Unanswered: there was no answer, and only one look is wanted.
    """
    while not stop.is_set():
        try:
            more = await look()
        except Unanswered as error:
            if found.once:
                raise
            LOG.warning("%s", error)
            more = False
        if found.once:
            return
        if not more:
            await asyncio.wait({asyncio.ensure_future(stop.wait())}, timeout=found.look_seconds)


def main(given: Sequence[str] | None = None) -> int:
    """Runs the service or the worker; gives the exit code."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    found = arguments(given)
    try:
        asyncio.run(until_stopped(found))
    except (OSError, PolicyError, Unanswered, TlsProblem) as error:
        LOG.error("%s", error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
