"""`python -m tests.benchmarks.gates`: the cost of a look of each gate in calls, bytes and seconds.

The answers are made up in the shape of real ones, filtered as the gates ask for them, and served over HTTP on this
machine to the collection's own client, compressed as OpenSearch does. So the seconds are those of the controller
alone: a server takes time too, and sends a message to each member for the calls that go to every member.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import string
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import conftest  # noqa: F401  # makes the collection importable; pylint: disable=unused-import

# isort: split
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.checks import MOMENTS
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.gates import Scope, judge
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.looking import look
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.client import (
    OpenSearchClient,
    connect,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.last_snapshot import AT_ONCE
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.look import Look
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.version import Version

OLD, NEW = Version(2, 19, 6), Version(3, 8, 0)
CREATED = 136408427
"""The version id of 2.19.6."""
SHARDS = 10
"""Of an index, each with one replica."""
SNAPSHOTS = 1000
"""In one repository."""
ALL_NAMES, AGES, INDICES = "/_snapshot/nightly/_all", "ages", "indices"
SETTINGS_OF_INDICES = "/_cluster/state/metadata"
"""The request for settings that the target does not have any more: no index has one."""
STARTED_WITH = {f"some.setting.of.a.member.{number}": "a value of its own" for number in range(25)}
"""The settings of each member."""
LETTERS = string.ascii_letters + string.digits
GIB = 1024**3
HEALTH = {
    "status": "green",
    "timed_out": False,
    **dict.fromkeys(("number_of_nodes", "initializing_shards", "relocating_shards", "unassigned_shards"), 0),
    **dict.fromkeys(("delayed_unassigned_shards", "number_of_in_flight_fetch", "number_of_pending_tasks"), 0),
}
WATERMARKS = {
    "threshold_enabled": "true",
    "watermark": {"low": "85%", "high": "90%", "flood_stage": "95%", "enable_for_single_data_node": "false"},
}


@dataclass
class Counted:
    """The traffic on the wire: answers, their bytes as JSON and as sent, and those that went to every member."""

    calls: int = 0
    to_every_member: int = 0
    plain: int = 0
    sent: int = 0


@dataclass
class Cluster:
    """Answers by path, and what was counted."""

    answers: dict[str, bytes]
    counted: Counted = field(default_factory=Counted)

    @classmethod
    def of(cls, members: int, shards: int, version: Version) -> Cluster:
        """A green cluster of so many members, all of which hold data; the first three vote."""
        chance = random.Random(7)  # noqa: S311 - the same cluster on every run
        identities = {f"data-{number}": "".join(chance.choices(LETTERS, k=22)) for number in range(members)}
        nodes = {
            identity: {"name": name, "version": str(version), "ip": "10.0.0.1", "host": "10.0.0.1", "roles": ["data"]}
            for name, identity in identities.items()
        }
        disk = {"total_in_bytes": 1000 * GIB, "available_in_bytes": 400 * GIB}
        stats = {
            identity: {"name": name, "roles": ["data"], "fs": {"data": [disk]}} for name, identity in identities.items()
        }
        state = _state(list(identities.values()), shards)
        settings = {"cluster": {"routing": {"allocation": {"disk": WATERMARKS}}}}
        answers = {
            "/_cluster/health": HEALTH,
            "/_nodes/_all/_none": {"nodes": nodes},
            "/_nodes/_all/settings": {
                "_nodes": {"failed": 0},
                "nodes": {
                    identity: {"name": node["name"], "settings": STARTED_WITH} for identity, node in nodes.items()
                },
            },
            "/_cluster/state": state,
            SETTINGS_OF_INDICES: {},
            "/_cluster/settings": {"persistent": {}, "transient": {}, "defaults": settings},
            "/_nodes/data:true/stats/fs": {"_nodes": {"failed": 0}, "nodes": stats},
            "/_tasks": {"nodes": {}},
            "/_snapshot": {"nightly": {"type": "s3"}},
            **_snapshots(list(state["metadata"]["indices"])),
        }
        return cls({path: json.dumps(answer, separators=(",", ":")).encode() for path, answer in answers.items()})

    def answer(self, path: str) -> bytes:
        """The answer to GET, compressed; it is counted."""
        kind = path.partition("?")[0]
        kind = "/_cluster/state" if kind.startswith("/_cluster/state") and kind != SETTINGS_OF_INDICES else kind
        if kind.startswith("/_snapshot/"):
            kind = ALL_NAMES if kind == ALL_NAMES else INDICES if "indices" in path else AGES
        plain = self.answers[kind]
        sent = gzip.compress(plain, compresslevel=3)
        self.counted.calls += 1
        self.counted.to_every_member += kind.startswith(("/_nodes", "/_tasks"))
        self.counted.plain += len(plain)
        self.counted.sent += len(sent)
        return sent


def _snapshots(indices: list[str]) -> dict[str, Any]:
    """The answers of a repository with so many snapshots, of which the last holds all indices."""
    names = [f"nightly-2026-{number // 28 % 12 + 1:02}-{number % 28 + 1:02}t{number:06}" for number in range(SNAPSHOTS)]
    known = [{"snapshot": name, "state": "SUCCESS"} for name in names]
    ages = [{**each, "end_time_in_millis": 1795000000000} for each in known[-AT_ONCE:]]
    return {
        ALL_NAMES: {"snapshots": known},
        AGES: {"snapshots": ages},
        INDICES: {"snapshots": [{"indices": indices}]},
    }


def _state(identities: list[str], shards: int) -> dict[str, Any]:
    chance = random.Random(7)  # noqa: S311 - the same cluster on every run
    table: dict[str, Any] = {}
    for number in range(shards):
        index, shard = f"index-{number // SHARDS}", number % SHARDS
        copies = [
            {
                "state": "STARTED",
                "primary": first,
                "node": node,
                "relocating_node": None,
                "shard": shard,
                "index": index,
            }
            for first, node in zip((True, False), chance.sample(identities, 2), strict=True)
        ]
        table.setdefault(index, {"shards": {}})["shards"][str(shard)] = copies
    settings = {
        "index": {
            "version": {"created": str(CREATED)},
            "number_of_shards": str(SHARDS),
            "number_of_replicas": "1",
        }
    }
    voters = identities[:3]
    return {
        "cluster_uuid": "Yq1Zp4oQSOu5mM0r9bJ2Mg",
        "version": 1,
        "cluster_manager_node": identities[0],
        "nodes": {
            identity: {"name": f"data-{number}", "ephemeral_id": identity} for number, identity in enumerate(identities)
        },
        "metadata": {
            "cluster_coordination": {
                "term": 1,
                "last_committed_config": voters,
                "last_accepted_config": voters,
                "voting_config_exclusions": [],
            },
            "indices": {name: {"state": "open", "settings": settings} for name in table},
        },
        "routing_table": {"indices": table},
    }


@contextmanager
def served(cluster: Cluster) -> Iterator[OpenSearchClient]:
    """A client of the collection to a server with these answers."""

    class Answering(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            body = cluster.answer(self.path)
            self.send_response(200)
            for name, value in (("Type", "application/json"), ("Encoding", "gzip"), ("Length", str(len(body)))):
                self.send_header(f"Content-{name}", value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name it has there
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield connect({"hosts": [f"http://127.0.0.1:{server.server_address[1]}"]})
        finally:
            server.shutdown()


def measure(members: int, shards: int) -> Iterator[tuple[str, Counted, float]]:
    """Each gate: its name, what it cost, and the seconds of one look with its verdict."""
    batch = "data-1"
    for moment in MOMENTS:
        cluster = Cluster.of(members, shards, NEW if moment.startswith("after") else OLD)
        names = frozenset(f"data-{number}" for number in range(members))
        scope = Scope(moment, names, frozenset({batch} if moment.endswith("batch") else ()), NEW)
        with served(cluster) as client:
            before: Look | None = None
            for again in (False, True):
                cluster.counted = Counted()
                began = time.perf_counter()
                before = look(client, moment, 0.0, before=before)
                verdict = judge(before, scope)
                took = time.perf_counter() - began
                assert verdict.passed, verdict
                yield f"{moment}{', again' if again else ''}", cluster.counted, took


def main(argv: list[str]) -> int:
    """Print the cost of each gate for clusters of several sizes."""
    options = argparse.ArgumentParser(prog='make benchmark-gates ARGS="…"', description=__doc__)
    options.add_argument("--members", type=int, nargs="+", default=[10, 100, 1000])
    options.add_argument("--shards", type=int, default=50, help="shards with one replica for each member")
    given = options.parse_args(argv)
    print(f"{given.shards} shards with one replica for each member, all green; bytes of the answers\n")
    print("members  gate                   calls  to every member        JSON        sent   one look")
    for members in given.members:
        for name, cost, seconds in measure(members, given.shards * members):
            sizes = [f"{each / 1000:9.1f} kB" for each in (cost.plain, cost.sent)]
            calls = f"{cost.calls:>5} {cost.to_every_member:>16}"
            print(f"{members:>7}  {name:<22} {calls} {' '.join(sizes)} {seconds:8.3f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
