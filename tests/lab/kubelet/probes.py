"""Startup, readiness and liveness probes. Messages are those of the real kubelet: people and tools read them."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import aiohttp

from tests.lab.api import Json

Execute = Callable[[list[str], float], Awaitable[tuple[int, str]]]
"""Runs a command next to the container's process within a time in seconds; gives exit code and output."""
BODY_LIMIT = 10 * 1024


@dataclass(frozen=True)
class ProbeResult:
    """One look; the message says why it failed."""

    success: bool
    message: str = ""


@dataclass(frozen=True)
class Tally:
    """Looks of one kind in a row. `verdict` is the last threshold reached, None before the first."""

    success_threshold: int
    failure_threshold: int
    verdict: bool | None = None
    last: bool | None = None
    count: int = 0

    def after(self, success: bool) -> Tally:
        """The tally with one more look."""
        count = self.count + 1 if self.last == success else 1
        threshold = self.success_threshold if success else self.failure_threshold
        verdict = success if count >= threshold else self.verdict
        return Tally(self.success_threshold, self.failure_threshold, verdict, success, count)


def tally_of(probe: Json) -> Tally:
    return Tally(probe.get("successThreshold", 1), probe.get("failureThreshold", 3))


@dataclass(frozen=True)
class Prober:
    """Looks at one container."""

    session: aiohttp.ClientSession
    address: str
    ports: dict[str, int]
    execute: Execute

    async def look(self, probe: Json) -> ProbeResult:
        """Make one look within the probe's timeout."""
        timeout = float(probe.get("timeoutSeconds", 1))
        if "httpGet" in probe:
            return await self.http(probe["httpGet"], timeout)
        if "tcpSocket" in probe:
            return await self._tcp(probe["tcpSocket"], timeout)
        if "exec" in probe:
            code, output = await self.execute(probe["exec"].get("command", []), timeout)
            return ProbeResult(code == 0, output.strip())
        return ProbeResult(False, f"the lab does not know the probe {', '.join(sorted(probe))}")

    def _port(self, port: int | str) -> int:
        return port if isinstance(port, int) else self.ports.get(port, 0)

    async def http(self, action: Json, timeout: float) -> ProbeResult:
        """GET as httpGet describes it; 200 to 399 is success."""
        scheme = action.get("scheme", "HTTP").lower()
        host = action.get("host") or self.address
        path = "/" + str(action.get("path", "/")).lstrip("/")
        url = f"{scheme}://{host}:{self._port(action['port'])}{path}"
        headers = {item["name"]: item["value"] for item in action.get("httpHeaders", [])}
        headers.setdefault("User-Agent", "kube-probe/lab")
        limit = aiohttp.ClientTimeout(total=timeout)
        try:
            async with self.session.get(
                url, headers=headers, timeout=limit, allow_redirects=False, ssl=_unverified(scheme)
            ) as response:
                await response.content.read(BODY_LIMIT)
                success = 200 <= response.status < 400
                return ProbeResult(success, "" if success else f"HTTP probe failed with statuscode: {response.status}")
        except asyncio.TimeoutError:
            return ProbeResult(False, f'Get "{url}": context deadline exceeded')
        except (aiohttp.ClientError, OSError) as error:
            return ProbeResult(False, f'Get "{url}": {_cause(error)}')

    async def _tcp(self, action: Json, timeout: float) -> ProbeResult:
        host, port = action.get("host") or self.address, self._port(action["port"])
        try:
            _reader, writer = await asyncio.wait_for(asyncio.open_connection(host, port), timeout)
        except asyncio.TimeoutError:
            return ProbeResult(False, f"dial tcp {host}:{port}: i/o timeout")
        except OSError as error:
            return ProbeResult(False, f"dial tcp {host}:{port}: {_cause(error)}")
        writer.close()
        return ProbeResult(True)


def _cause(error: Exception) -> str:
    inner = getattr(error, "os_error", error)
    return "connect: connection refused" if isinstance(inner, ConnectionRefusedError) else str(error)


def _unverified(scheme: str) -> ssl.SSLContext | bool:
    """Probes do not verify certificates, as the real kubelet does not."""
    if scheme != "https":
        return False
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
