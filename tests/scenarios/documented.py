"""The curl commands of pages, taken out of them and sent to real servers."""

from __future__ import annotations

import json
import re
import shlex
import urllib.request
from pathlib import Path
from typing import Any

from tests.scenarios.cluster import Cluster

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "running.md"
WAY_BACK = DOCS / "way-back.md"
ANSWER = re.compile(r'\.(?P<scope>\w+)\["(?P<name>[^"]+)"\]')
"""The one kind of jq filter that the page has."""


def curl_lines(page: Path = PAGE) -> list[str]:
    """The curl commands of a page in their order, each in one line, with what follows its pipe."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    found = re.findall(r"^\$ (curl [^\n`]+)|`(curl [^`]+)`", text, re.M)
    # Within a sentence a command may be broken where the line is.
    return [typed or " ".join(said.split()) for typed, said in found]


def sample_of(command: str) -> Any:
    """The answer to a command as the page shows it."""
    after = PAGE.read_text(encoding="utf-8").partition(f"{command}\n")[2]
    return json.loads(after.partition("\n```")[0])


def send(cluster: Cluster, command: str) -> Any:
    """Send what curl would send, and filter the answer as jq would: neither program needs to be installed."""
    words = iter(shlex.split(command.replace("$URL", cluster.url)))
    method, url, body, headers = "GET", "", None, {}
    for word in words:
        if word == "-X":
            method = next(words)
        elif word == "-d":
            body = next(words).encode()
        elif word == "-H":
            name, _colon, headers[name] = next(words).partition(": ")
        elif word == "|":
            break
        elif word.startswith("http"):
            url = word
        else:
            assert word in {"curl", "-s"}, word
    with cluster.open(urllib.request.Request(url, body, headers, method=method)) as answer:  # noqa: S310 - the lab's own
        text = answer.read().decode()
    filtered = list(words)
    if not filtered:
        return text
    assert filtered[:2] == ["jq", "-r"]
    found = ANSWER.fullmatch(filtered[2])
    assert found is not None, filtered
    return json.loads(text)[found["scope"]][found["name"]]
