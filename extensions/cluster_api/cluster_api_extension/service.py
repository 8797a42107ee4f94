"""The HTTPS service: paths of hooks, one answer each within the time of the caller; and health for the kubelet."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable
from datetime import datetime, timezone

import aiohttp
from aiohttp import web

from . import external
from .bodies import API_VERSION, BadBody, body_of, failure, part, success
from .coverage import can_update_machine, can_update_machine_set
from .discovery import TIMEOUT, discovered
from .documents import CLEAR, CLEARED, NotUnderstood
from .external_task import requested_by_task
from .fields import Json
from .gates import cluster_named, gated, skipped
from .holds import SKIP_REMEDIATION
from .kubernetes_api import Unanswered
from .policy import GATED_HOOKS, OBJECTS, Policy
from .store import BeingDeleted, Store, gate_behind, gate_name
from .tasks import HOOK, Wanted, reply

LARGEST = 4 * 1024 * 1024
"""The most bytes of a request; an object of Kubernetes has 1.5 MiB at most."""
MARGIN = 1.0
"""Seconds by which an answer comes before the time limit of the caller."""
LOG = logging.getLogger("cluster_api_extension")

Answering = Callable[[Json], Awaitable[Json]]


def utc_now() -> datetime:
    """The time, in whole seconds."""
    return datetime.now(timezone.utc).replace(microsecond=0)


class HookService:
    """The answers of the hooks, from the policy and the management cluster."""

    def __init__(self, policy: Policy, store: Store, now: Callable[[], datetime] = utc_now) -> None:
        self._policy, self._store, self._now = policy, store, now
        self._hooks: dict[str, tuple[str, Answering]] = {
            "canupdatemachine": ("CanUpdateMachine", self._can_update_machine),
            "canupdatemachineset": ("CanUpdateMachineSet", self._can_update_machine_set),
            "updatemachine": (HOOK, self.update_machine),
            "discovery": ("Discovery", self._discovery),
            external.HOOK.lower(): (external.HOOK, self.external_upgrade),
            **{hook.lower(): (hook, self._gate_of(hook)) for hook in GATED_HOOKS},
        }

    def application(self) -> web.Application:
        """The hooks, for HTTPS."""
        made = web.Application(client_max_size=LARGEST)
        for path in (f"/{API_VERSION}/{{hook}}", f"/{API_VERSION}/{{hook}}/{{handler}}"):
            made.router.add_post(path, self.answered)
        return made

    def health(self) -> web.Application:
        """Two paths for the kubelet, which has no client certificate."""
        made = web.Application()
        made.router.add_get("/healthz", self._healthy)
        made.router.add_get("/readyz", self._ready)
        return made

    async def answered(self, request: web.Request) -> web.Response:
        """The answer to one request; a request that cannot be read gets one sentence."""
        name = request.match_info["hook"]
        if name not in self._hooks:
            return web.Response(status=404, text=f"There is no hook {name[:100]!r} here.")
        try:
            content = await request.read()
            answer = await self.answer(name, content, time_for(request.query.get("timeout", "")))
        except web.HTTPRequestEntityTooLarge:
            return web.Response(status=413, text=f"The request has more than {LARGEST} bytes.")
        except BadBody as error:
            return web.Response(status=400, text=str(error))
        return web.json_response(answer)

    async def answer(self, name: str, content: bytes, seconds: float = TIMEOUT) -> Json:
        """The answer of a hook, by its name in lower case, to a body, within so many seconds.

        Raises:
            BadBody: it is no request of this hook.
        """
        hook, answering = self._hooks[name]
        body = body_of(content, hook)
        try:
            answer = await asyncio.wait_for(answering(body), seconds)
        except asyncio.TimeoutError:
            answer = self._later(hook, "The management cluster has not answered in time.")
        if answer["message"]:
            level = logging.WARNING if answer["status"] == "Failure" else logging.INFO
            LOG.log(level, "%s: %s: %s", hook, answer["status"], answer["message"])
        return answer

    async def _discovery(self, _body: Json) -> Json:
        return discovered(self._policy)

    async def _can_update_machine(self, body: Json) -> Json:
        return can_update_machine(body, self._policy)

    async def _can_update_machine_set(self, body: Json) -> Json:
        return can_update_machine_set(body, self._policy)

    async def update_machine(self, body: Json) -> Json:
        """The answer to UpdateMachine, from the task of the machine.

        Raises:
            BadBody: the request names no machine.
        """
        desired = part(body, "desired")
        objects = {name: part(desired, name) for name in OBJECTS if name in desired}
        if "machine" not in objects:
            raise BadBody("The request has no object desired.machine.")
        try:
            wanted = await self._store.wanted(objects)
            task = await self._store.requested(wanted, self._policy.budget, self._now())
        except (BeingDeleted, NotUnderstood, Unanswered) as error:
            return self._later(HOOK, str(error))
        return reply(task, wanted, clearing(wanted, self._store.namespace))

    async def external_upgrade(self, body: Json) -> Json:
        """The answer to ExternalUpgrade: runs for the same owner are aborted first, then the request is decided.

        Raises:
            BadBody: the request names no machines.
        """
        uncovered = external.uncovered_in(body, self._policy)
        try:
            if self._policy.external.upgrade_task:
                return await requested_by_task(body, uncovered, self._policy, self._store, self._now)
            machines = [external.desired_of(each, body) for each in external.machines_of(body)]
            wanted = [await self._store.wanted(each) for each in machines]
            if running := await self._store.abort_others(wanted, self._now()):
                names = ", ".join(task.wanted.name for task in running)
                return external.declined(f"A run still works on {names}, and was asked to end: request it again.")
            if uncovered:
                return external.declined(f"The allow-list does not cover {', '.join(uncovered)}.")
            budget = self._policy.budget
            return external.accepted([await self._store.requested(each, budget, self._now()) for each in wanted])
        except (BeingDeleted, NotUnderstood, Unanswered) as error:
            return external.declined(str(error))

    def _gate_of(self, hook: str) -> Answering:
        async def answer(body: Json) -> Json:
            namespace, name = cluster_named(body)
            cluster, rule = f"{namespace}/{name}", self._policy.gate
            if not rule.asks(hook, cluster):
                return success(hook, retryAfterSeconds=0)
            if cause := skipped(body):
                LOG.warning("%s: the gate of %s is skipped by its annotation: %r", hook, cluster, cause[:200])
                return success(hook, retryAfterSeconds=0)
            try:
                if rule.url:
                    place = rule.url
                    async with aiohttp.ClientSession() as session:
                        found = await gate_behind(rule.url, namespace, name, session)
                else:
                    place = f"ConfigMap {self._store.namespace}/{gate_name(namespace, name)}"
                    found = await self._store.gate(namespace, name)
            except Unanswered as error:
                found = str(error)
            return gated(hook, cluster, rule, found, self._now(), place)

        return answer

    def _later(self, hook: str, message: str) -> Json:
        """An answer that says busy, for a request that has no other yet."""
        if hook.startswith("CanUpdate") or hook == "Discovery":
            return failure(hook, message)
        if hook == external.HOOK:
            return external.declined(message)
        return success(hook, message, retryAfterSeconds=self._policy.budget.poll)

    async def _healthy(self, _request: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def _ready(self, _request: web.Request) -> web.Response:
        try:
            await self._store.ready()
        except Unanswered as error:
            return web.Response(status=503, text=str(error))
        return web.Response(text="ok")


def clearing(wanted: Wanted, namespace: str) -> str:
    """The commands with which a person clears a failure, or lets the machine go.

    Cluster API doubles its pause after each failure, up to 1000 s (`util/controller/builder.go`), and asks at once
    when the Machine changes.
    """
    cleared = f"kubectl annotate -n {namespace} configmap/{wanted.task_name} {CLEAR}=NAME"
    annotate = f"kubectl annotate -n {wanted.namespace} machine/{wanted.name}"
    return (
        f"{cleared}; then {annotate} {CLEARED}=NAME --overwrite. "
        f"To let a MachineHealthCheck replace the machine instead: {annotate} {SKIP_REMEDIATION}-"
    )


def time_for(written: str) -> float:
    """Seconds for an answer, from the query of the caller, such as 10s; another form counts as the default."""
    try:
        given = float(written.removesuffix("s")) if written.endswith("s") else float(TIMEOUT)
    except ValueError:
        given = float(TIMEOUT)
    return max(0.5, min(given, 30.0) - MARGIN) if math.isfinite(given) else TIMEOUT - MARGIN
