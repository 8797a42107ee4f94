"""The indices and documents of the traffic: small, plain, and the same on every run."""

from __future__ import annotations

import random
from typing import Any

INDICES = tuple(f"traffic-{number}" for number in range(2))
SHARDS, REPLICAS = 2, 1
REFRESH = "5s"
"""As clusters with much to write are set. The default of a second is half of all that the members would do here."""
WORDS = (
    *("amber", "basalt", "cedar", "delta", "ember", "fjord", "granite", "harbor", "island", "juniper"),
    *("kelp", "lagoon", "meadow", "nimbus", "ocean", "prairie", "quartz", "river", "summit", "tundra"),
)


def index_body() -> dict[str, Any]:
    """Gives the settings and mapping of an index, as the body of its creation."""
    properties = {"number": {"type": "long"}, "text": {"type": "text"}}
    index = {"number_of_shards": SHARDS, "number_of_replicas": REPLICAS, "refresh_interval": REFRESH}
    return {"settings": {"index": index}, "mappings": {"properties": properties}}


def index_of(number: int) -> str:
    """Gives the index that a document belongs in."""
    return INDICES[number % len(INDICES)]


def document(number: int) -> dict[str, Any]:
    """Gives a document; its words follow from its number."""
    words = random.Random(number).choices(WORDS, k=8)  # noqa: S311 - words, not secrets
    return {"number": number, "text": " ".join(words)}
