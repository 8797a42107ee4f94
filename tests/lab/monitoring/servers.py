"""Prometheus, Alertmanager and the push gateway, each a process on this machine for the length of a block."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests
import yaml

from tests.lab.addresses import HOST, ClaimedPort
from tests.lab.monitoring.debian import ensure_unpacked
from tests.lab.processes import die_with_parent
from tests.lab.waiting import until

_SECONDS = 60.0
EVALUATED = "200ms"
"""The time between two evaluations of the rules."""


@contextmanager
def _server(program: str, ready: str, arguments: Sequence[str], folder: Path, port: ClaimedPort) -> Iterator[str]:
    """A server that is ready; gives its URL."""
    programs = ensure_unpacked(lambda line: print(line, file=sys.stderr, flush=True))
    url = f"http://{HOST}:{port.number}"
    # Debian's Alertmanager reads its templates below /usr/share, and nothing is installed there.
    place = f'mount --bind "{programs.parent / "share"}" /usr/share && exec "$0" "$@"'
    unshared = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c", place]
    with (folder / f"{program}.log").open("w") as log:
        process = subprocess.Popen(
            [*unshared, programs / program, *arguments],
            stdout=log,
            stderr=log,
            cwd=folder,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - one system call, no Python lock is taken
        )
        try:
            until(f"{program} is ready", lambda: _answers(f"{url}{ready}"), _SECONDS)
            yield url
        finally:
            process.terminate()
            process.wait()
            port.release()


def _answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=1).ok
    except requests.RequestException:
        return False


@dataclass(frozen=True)
class Prometheus:
    """A Prometheus whose alerts a test sets."""

    url: str
    rules: Path

    def fire(self, *alerts: dict[str, str]) -> None:
        """Let exactly these alerts fire, each given by its labels, and wait until they do."""
        rules = [
            {
                "alert": each["alertname"],
                "expr": "vector(1)",
                "labels": {k: v for k, v in each.items() if k != "alertname"},
            }
            for each in alerts
        ]
        self.rules.write_text(yaml.safe_dump({"groups": [{"name": "said", "rules": rules}] if rules else []}))
        requests.post(f"{self.url}/-/reload", timeout=10).raise_for_status()
        wanted = sorted(json.dumps(each, sort_keys=True) for each in alerts)
        until("exactly these alerts fire", lambda: self._firing() == wanted, _SECONDS)

    def _firing(self) -> list[str]:
        answer = requests.get(f"{self.url}/api/v1/query", {"query": 'ALERTS{alertstate="firing"}'}, timeout=10).json()[
            "data"
        ]["result"]
        found: list[dict[str, str]] = [each["metric"] for each in answer]
        return sorted(
            json.dumps({k: v for k, v in each.items() if k not in ("__name__", "alertstate")}, sort_keys=True)
            for each in found
        )


@contextmanager
def prometheus(folder: Path) -> Iterator[Prometheus]:
    """A Prometheus without any alert. Its files are in the folder."""
    rules, port = folder / "rules.yml", ClaimedPort.claim()
    rules.write_text("groups: []\n")
    (folder / "prometheus.yml").write_text(
        yaml.safe_dump({"global": {"evaluation_interval": EVALUATED}, "rule_files": [str(rules)]})
    )
    arguments = [
        "--config.file=prometheus.yml",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={HOST}:{port.number}",
        "--web.enable-lifecycle",
    ]
    with _server("prometheus", "/-/ready", arguments, folder, port) as url:
        yield Prometheus(url, rules)


@dataclass(frozen=True)
class Alertmanager:
    """An Alertmanager, with its silences and alerts."""

    url: str

    def fire(self, *alerts: dict[str, str]) -> None:
        """Report to it that these alerts fire, each given by its labels."""
        body = [{"labels": each} for each in alerts]
        requests.post(f"{self.url}/api/v2/alerts", json=body, timeout=10).raise_for_status()

    def silences(self) -> list[dict[str, Any]]:
        """All silences that it knows, those that are over included."""
        found: list[dict[str, Any]] = requests.get(f"{self.url}/api/v2/silences", timeout=10).json()
        return found

    def active(self) -> list[dict[str, Any]]:
        """The silences that are in force."""
        return [each for each in self.silences() if each["status"]["state"] == "active"]


@contextmanager
def alertmanager(folder: Path) -> Iterator[Alertmanager]:
    """An Alertmanager that sends nothing to anyone. Its files are in the folder."""
    port = ClaimedPort.claim()
    (folder / "alertmanager.yml").write_text(
        yaml.safe_dump({"route": {"receiver": "nobody"}, "receivers": [{"name": "nobody"}]})
    )
    arguments = [
        "--config.file=alertmanager.yml",
        f"--storage.path={folder / 'alertmanager'}",
        f"--web.listen-address={HOST}:{port.number}",
        "--cluster.listen-address=",
    ]
    with _server("prometheus-alertmanager", "/-/ready", arguments, folder, port) as url:
        yield Alertmanager(url)


@contextmanager
def push_gateway(folder: Path) -> Iterator[str]:
    """A push gateway; gives its URL."""
    port = ClaimedPort.claim()
    arguments = [f"--web.listen-address={HOST}:{port.number}"]
    with _server("prometheus-pushgateway", "/-/ready", arguments, folder, port) as url:
        yield url
