"""The manifests of the service, as kubectl would apply them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

EXTENSION = Path(__file__).resolve().parents[3] / "extensions" / "cluster_api"
MANIFESTS = sorted((EXTENSION / "manifests").glob("*.yaml"))
NAMESPACE = "machine-upgrades"

Json = dict[str, Any]


def documents() -> list[Json]:
    """All objects, in the order of the files."""
    found = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in MANIFESTS]
    return [each for content in found for each in (content["items"] if content["kind"] == "List" else [content])]


def of_kind(*kinds: str) -> list[Json]:
    """The objects of these kinds."""
    return [each for each in documents() if each["kind"] in kinds]


POLICY_FILE: str = of_kind("ConfigMap")[0]["data"]["policy.yaml"]
