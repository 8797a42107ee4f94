"""The service over real TLS, next to a management cluster in memory, with the rights of its manifests and no others."""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from extensions.cluster_api.cluster_api_extension.gates import GateAnswer
from extensions.cluster_api.cluster_api_extension.kubernetes_api import Access, KubernetesApi
from extensions.cluster_api.cluster_api_extension.policy import Policy, policy_of
from extensions.cluster_api.cluster_api_extension.service import LARGEST, HookService, time_for
from extensions.cluster_api.cluster_api_extension.store import Store, gate_behind
from extensions.cluster_api.cluster_api_extension.tls import ServerTls, TlsFiles
from tests.lab.certificates import Authority, Identity
from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS
from tests.sandbox.listening import Listening
from tests.sandbox.web import Answer, Request
from tests.unit.cluster_api.management import SERVICE, DirectApi, Management
from tests.unit.cluster_api.manifests import NAMESPACE
from tests.unit.cluster_api.requests import HOOKS, Json, path_of, recorded, with_value

MACHINE = "mem-md-0-7gkws-vcdx7-x4nvg"
AUTHORITY, OTHER_AUTHORITY = Authority("authority"), Authority("another")
UNGATED = Policy()
GATED = policy_of({"gate": {"hooks": ["BeforeWorkersUpgrade", "AfterWorkersUpgrade"]}})


def written(folder: Path, name: str, identity: Identity) -> tuple[Path, Path]:
    certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
    certificate.write_bytes(identity.certificate)
    key.write_bytes(identity.key)
    return certificate, key


def tls_files(folder: Path) -> TlsFiles:
    certificate, key = written(folder, "server", AUTHORITY.issue("server", ["127.0.0.1"]))
    authority = folder / "ca.crt"
    authority.write_bytes(AUTHORITY.certificate)
    return TlsFiles(certificate, key, authority)


def client_tls(folder: Path, identity: Identity | None) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=AUTHORITY.certificate.decode())
    if identity is not None:
        context.load_cert_chain(*written(folder, "client", identity))
    return context


@dataclass
class Caller:
    """Cluster API, as it calls a hook."""

    url: str
    session: aiohttp.ClientSession
    tls: ServerTls
    server: web.Server

    async def post(self, path: str, body: bytes) -> tuple[int, str]:
        async with self.session.post(self.url + path, data=body) as response:
            return response.status, await response.text()

    async def ask(self, hook: str, body: Json | None = None) -> Json:
        status, text = await self.post(path_of(hook), json.dumps(body or recorded(hook)).encode())
        assert status == 200, text
        answer: Json = json.loads(text)
        return answer


Body = Callable[[Caller, Management], Awaitable[None]]


def served(folder: Path, body: Body, policy: Policy = UNGATED) -> None:
    """Runs `body` next to the service. The management cluster is behind a socket of its own, over HTTPS."""
    management = Management()
    management.machine(MACHINE)
    token, authority = folder / "token", folder / "ca.crt"
    token.write_text(management.token(SERVICE))
    files = tls_files(folder)

    async def run(url: str) -> None:
        tls = ServerTls(files)
        async with KubernetesApi(Access(url, token, authority)) as api:
            service = HookService(policy, Store(api, NAMESPACE), management.now)
            runner = web.AppRunner(service.application(), access_log=None, shutdown_timeout=0.1)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls.context).start()
            port, server = runner.addresses[0][1], runner.server
            assert server is not None
            connector = aiohttp.TCPConnector(
                ssl=client_tls(folder, AUTHORITY.issue("cluster-api-managers")), force_close=True
            )
            async with aiohttp.ClientSession(connector=connector) as session:
                await body(Caller(f"https://127.0.0.1:{port}", session, tls, server), management)
            await runner.cleanup()

    with Listening(management.clock) as listening:
        server = AUTHORITY.issue("api", ["127.0.0.1"])
        asyncio.run(run(listening.serve(management.server, identity=server).url))


@pytest.mark.parametrize("hook", HOOKS)
def test_every_recorded_request_gets_an_answer_in_the_form_of_its_hook(hook: str, tmp_path: Path) -> None:
    async def body(caller: Caller, _management: Management) -> None:
        answer = await caller.ask(hook)
        assert answer["kind"] == recorded(hook)["kind"].replace("Request", "Response")
        assert answer["apiVersion"] == "hooks.runtime.cluster.x-k8s.io/v1alpha1"
        assert answer["status"] == "Success"
        if hook.startswith(("before", "after")):
            assert answer["retryAfterSeconds"] == 0

    served(tmp_path, body)


def test_discovery_is_asked_without_a_handler(tmp_path: Path) -> None:
    async def body(caller: Caller, _management: Management) -> None:
        asked = {"kind": "DiscoveryRequest", "apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1"}
        status, text = await caller.post(
            "/hooks.runtime.cluster.x-k8s.io/v1alpha1/discovery?timeout=10s", json.dumps(asked).encode()
        )
        assert (status, len(json.loads(text)["handlers"])) == (200, 5)

    served(tmp_path, body, GATED)


def test_a_machine_is_upgraded_once_and_asking_again_writes_nothing(tmp_path: Path) -> None:
    async def body(caller: Caller, management: Management) -> None:
        first = await caller.ask("updatemachine")
        assert (first["retryAfterSeconds"], first["message"]) == (
            15,
            "The upgrade to v1.36.1 waits for a run to claim it.",
        )
        task = management.tasks()[MACHINE]
        assert (task["state"], task["wanted"]["cluster"], task["attempts"]) == ("waiting", "mem", 0)
        before = management.server.store.version
        assert await caller.ask("updatemachine") == first
        assert management.tasks()[MACHINE] == task
        assert management.server.store.version == before

    served(tmp_path, body)


def test_nothing_secret_is_kept_or_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def body(caller: Caller, management: Management) -> None:
        await caller.ask("updatemachine")
        secret = with_value(recorded("canupdatemachine"), "desired.bootstrapConfig.spec.users", ["very secret"])
        assert "bootstrapConfig.spec.users" in (await caller.ask("canupdatemachine", secret))["message"]
        kept = json.dumps(list(management.tasks().values()))
        for each in ("aaaaaa.bbbbbbbbbbbbbbbb", "very secret", management.token(SERVICE)):
            assert each not in kept
            assert each not in caplog.text

    served(tmp_path, body)


def test_a_failure_is_answered_until_a_person_clears_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def body(caller: Caller, management: Management) -> None:
        await caller.ask("updatemachine")
        management.clock.advance(7200)
        failed = await caller.ask("updatemachine")
        (name,) = management.objects(CONFIG_MAPS)
        assert (failed["status"], failed["retryAfterSeconds"]) == ("Failure", 0)
        assert failed["message"] == (
            "The upgrade to v1.36.1 has failed: it was not done within 7200 s. "
            "Nothing is done until a person clears it: "
            f"kubectl annotate -n {NAMESPACE} configmap/{name} upgrade.stateful/clear=NAME; "
            f"then kubectl annotate -n default machine/{MACHINE} upgrade.stateful/cleared=NAME --overwrite. "
            "To let a MachineHealthCheck replace the machine instead: "
            f"kubectl annotate -n default machine/{MACHINE} cluster.x-k8s.io/skip-remediation-"
        )
        warnings = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
        assert warnings == [f"UpdateMachine: Failure: {failed['message']}"]
        management.clock.advance(86_400)
        assert await caller.ask("updatemachine") == failed
        management.annotate(name, "upgrade.stateful/clear", "ada")
        assert (await caller.ask("updatemachine"))["retryAfterSeconds"] == 15
        # The word of one person clears one failure.
        management.clock.advance(7200)
        assert (await caller.ask("updatemachine"))["status"] == "Failure"

    served(tmp_path, body)


def test_a_machine_that_is_gone_gets_no_task(tmp_path: Path) -> None:
    async def body(caller: Caller, management: Management) -> None:
        answer = await caller.ask(
            "updatemachine", with_value(recorded("updatemachine"), "desired.machine.metadata.name", "x")
        )
        assert answer["message"] == "The Machine default/x is being deleted, so nothing is done."
        assert (answer["status"], answer["retryAfterSeconds"], management.tasks()) == ("Success", 15, {})

    served(tmp_path, body)


def test_a_gate_holds_an_upgrade_until_it_says_yes_and_only_at_its_hooks(tmp_path: Path) -> None:
    async def body(caller: Caller, management: Management) -> None:
        held = await caller.ask("beforeworkersupgrade")
        assert (held["status"], held["retryAfterSeconds"]) == ("Success", 30)
        assert "by the gate ConfigMap machine-upgrades/gate-default.mem: It has not answered yet." in held["message"]
        assert (await caller.ask("beforeclusterupgrade"))["retryAfterSeconds"] == 0
        seen = management.now().isoformat()
        management.gate("mem", fit="no", reason="The index orders is yellow.", seen=seen)
        assert "The index orders is yellow." in (await caller.ask("beforeworkersupgrade"))["message"]
        management.gate("mem", fit="yes", reason="", seen=seen)
        assert (await caller.ask("beforeworkersupgrade"))["retryAfterSeconds"] == 0
        assert (await caller.ask("afterworkersupgrade"))["retryAfterSeconds"] == 0
        management.clock.advance(601)
        assert "older than 600 s" in (await caller.ask("beforeworkersupgrade"))["message"]
        skip = {"upgrade.stateful/skip-gate": "the gate is out of order"}
        skipped = with_value(recorded("beforeworkersupgrade"), "cluster.metadata.annotations", skip)
        assert (await caller.ask("beforeworkersupgrade", skipped))["retryAfterSeconds"] == 0

    served(tmp_path, body, GATED)


@pytest.mark.parametrize(
    ("path", "content", "status", "sentence"),
    [
        ("updatemachine/updatemachine", b"{", 400, "The request of UpdateMachine is not JSON."),
        ("updatemachine/updatemachine", b"\xff", 400, "The request of UpdateMachine is not JSON."),
        ("updatemachine/updatemachine", b"[" * 100_000, 400, "The request of UpdateMachine is not JSON."),
        ("updatemachine/updatemachine", b"[]", 400, "The request of UpdateMachine is no JSON object."),
        ("updatemachine/updatemachine", b"{}", 400, "The request of UpdateMachine has another apiVersion than"),
        ("updatemachine/updatemachine", b" " * (LARGEST + 1), 413, "The request has more than"),
        ("beforelunch/beforelunch", b"{}", 404, "There is no hook 'beforelunch' here."),
    ],
)
def test_a_body_that_is_no_request_gets_one_sentence(
    path: str, content: bytes, status: int, sentence: str, tmp_path: Path
) -> None:
    async def body(caller: Caller, management: Management) -> None:
        given = await caller.post(f"/hooks.runtime.cluster.x-k8s.io/v1alpha1/{path}", content)
        assert given[0] == status
        assert given[1].startswith(sentence)
        assert "\n" not in given[1]
        assert management.tasks() == {}

    served(tmp_path, body)


@pytest.mark.parametrize(
    "missing", ["desired", "desired.machine", "desired.machine.metadata.name", "desired.machine.metadata.namespace"]
)
def test_a_request_without_a_machine_gets_one_sentence(missing: str, tmp_path: Path) -> None:
    async def body(caller: Caller, _management: Management) -> None:
        asked = with_value(recorded("updatemachine"), missing, None)
        status, text = await caller.post(path_of("updatemachine"), json.dumps(asked).encode())
        assert status == 400
        assert text.startswith("The request has no ")

    served(tmp_path, body)


@pytest.mark.parametrize("identity", [None, OTHER_AUTHORITY.issue("cluster-api-managers")], ids=["none", "another's"])
def test_a_caller_without_a_certificate_of_the_authority_gets_no_answer(
    identity: Identity | None, tmp_path: Path
) -> None:
    async def body(caller_with_one: Caller, _management: Management) -> None:
        connector = aiohttp.TCPConnector(ssl=client_tls(tmp_path, identity), force_close=True)
        async with aiohttp.ClientSession(connector=connector) as session:
            stranger = replace(caller_with_one, session=session)
            with pytest.raises(aiohttp.ClientError):
                await stranger.ask("canupdatemachine")
        assert (await caller_with_one.ask("canupdatemachine"))["status"] == "Success"

    served(tmp_path, body)


def test_a_management_cluster_that_gives_no_answer_makes_no_machine_fail(tmp_path: Path) -> None:
    async def body(caller: Caller, management: Management) -> None:
        management.server.faults.answer(503, "*", "", times=100)
        busy = await caller.ask("updatemachine")
        assert (busy["status"], busy["retryAfterSeconds"]) == ("Success", 15)
        assert busy["message"].startswith(
            "The API server answers GET /apis/cluster.x-k8s.io/v1beta2/namespaces/default/"
        )
        held = await caller.ask("beforeworkersupgrade")
        assert held["retryAfterSeconds"] == 30

    served(tmp_path, body, GATED)


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (Answer(200, {"fit": "no", "reason": "yellow", "seen": "2026-11-28T12:00:00Z"}), "yellow"),
        (Answer(200, []), "Its answer is no JSON object."),
        (Answer(200, "text"), "It gives no answer (JSONDecodeError)."),
        (Answer(500, {}), "It answers with 500."),
        (Answer(302, {}, {"Location": "https://elsewhere.example"}), "It answers with 302."),
    ],
)
def test_a_gate_behind_an_address_is_asked_by_cluster(answer: Answer, found: str, tmp_path: Path) -> None:
    asked: list[Request] = []

    def gate(request: Request) -> Answer:
        asked.append(request)
        return answer

    async def run(url: str) -> GateAnswer | str:
        connector = aiohttp.TCPConnector(ssl=client_tls(tmp_path, None))
        async with aiohttp.ClientSession(connector=connector) as session:
            return await gate_behind(f"{url}/fit", "default", "mem", session)

    with Listening(Clock()) as listening:
        port = listening.serve(gate, identity=AUTHORITY.issue("gate", ["127.0.0.1"]))
        given = asyncio.run(run(port.url))
    assert (given.reason if isinstance(given, GateAnswer) else given) == found
    assert [(each.path, each.query) for each in asked] == [("/fit", {"namespace": "default", "cluster": "mem"})]


@pytest.mark.parametrize(
    ("given", "seconds"), [("10s", 9), ("30s", 29), ("99s", 29), ("1s", 0.5), ("", 9), ("1m0s", 9), ("nans", 9)]
)
def test_an_answer_comes_before_the_time_of_the_caller_has_ended(given: str, seconds: float) -> None:
    assert time_for(given) == seconds


def test_the_kubelet_needs_no_certificate_and_sees_whether_the_management_cluster_answers() -> None:
    management = Management()

    async def run() -> list[tuple[str, int]]:
        service = HookService(Policy(), Store(DirectApi(management, SERVICE), NAMESPACE), management.now)
        runner = web.AppRunner(service.health(), access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        found = []
        async with aiohttp.ClientSession() as session:
            for path in ("/readyz", "/healthz"):
                async with session.get(url + path) as response:
                    found.append((path, response.status))
            management.server.faults.answer(503, "*", "", times=100)
            for path in ("/readyz", "/healthz"):
                async with session.get(url + path) as response:
                    found.append((path, response.status))
        await runner.cleanup()
        return found

    assert asyncio.run(run()) == [("/readyz", 200), ("/healthz", 200), ("/readyz", 503), ("/healthz", 200)]
