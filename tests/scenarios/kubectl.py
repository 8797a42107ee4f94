"""`python -m tests.scenarios.kubectl`: the few commands of kubectl that the documentation has, for machines without it.

`apply -n NAMESPACE -f FILE…` and `create token -n NAMESPACE ACCOUNT --duration=4h`, with the kubeconfig of KUBECONFIG.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml
from kubernetes import client, config

from tests.lab.manifests import apply

SECONDS = {"s": 1, "m": 60, "h": 3600}


def main(argv: list[str]) -> int:
    """Do one command."""
    parser = argparse.ArgumentParser(prog="kubectl")
    commands = parser.add_subparsers(dest="command", required=True)
    applying = commands.add_parser("apply")
    applying.add_argument("-n", dest="namespace", required=True)
    applying.add_argument("-f", dest="files", type=Path, action="append", required=True)
    creating = commands.add_parser("create")
    creating.add_argument("kind", choices=["token"])
    creating.add_argument("-n", dest="namespace", required=True)
    creating.add_argument("name")
    creating.add_argument("--duration", default="1h")
    options = parser.parse_args(argv)
    with config.new_client_from_config(config_file=os.environ["KUBECONFIG"]) as api:
        if options.command == "apply":
            _apply(api, options.namespace, options.files)
        else:
            print(_token(api, options.namespace, options.name, options.duration))
    return 0


def _apply(api: client.ApiClient, namespace: str, files: list[Path]) -> None:
    documents = [each for file in files for each in yaml.safe_load_all(file.read_text(encoding="utf-8"))]
    objects = [each for document in documents for each in document.get("items", [document])]
    placed = [{**each, "metadata": {**each["metadata"], "namespace": namespace}} for each in objects]
    with tempfile.TemporaryDirectory() as folder:
        apply(api, placed, Path(folder, "discovery"))
    for each in placed:
        print(f"{each['kind'].lower()}/{each['metadata']['name']} applied")


def _token(api: client.ApiClient, namespace: str, name: str, duration: str) -> str:
    seconds = int(duration[:-1]) * SECONDS[duration[-1]]
    request = client.AuthenticationV1TokenRequest(
        spec=client.V1TokenRequestSpec(audiences=[], expiration_seconds=seconds)
    )
    answer: Any = client.CoreV1Api(api).create_namespaced_service_account_token(name, namespace, request)
    return str(answer.status.token)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
