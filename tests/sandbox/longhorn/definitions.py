# SPDX-License-Identifier: GPL-3.0-or-later
"""The real custom resource definitions of Longhorn, out of the Go module of its manager.

The module is fetched by the Go client, once per machine. Its checksum is the one that `go.sum` files hold; another one
is refused, whatever the client says. Nothing of it is kept here: the cache holds the definitions, as one JSON file.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import yaml

from tests.lab.cache import cache_root, exclusive
from tests.lab.errors import LabError
from tests.lab.go import toolchain
from tests.sandbox.kubernetes.objects import Json, copied

MODULE, VERSION = "github.com/longhorn/longhorn-manager", "v1.12.0"
SUM = "h1:XJNQSH1M7P5ot+YoTtpKHTYW3yXNeFLTWbR1My/vs3c="
FILE = "k8s/crds.yaml"
_GO = "1.21.0"
"""Any Go that fetches a module of another version than its own."""


def path() -> Path:
    """The path of the definitions of this very module in the cache."""
    digest = hashlib.sha256(f"{MODULE}@{VERSION} {SUM}".encode()).hexdigest()
    return cache_root() / "longhorn" / f"definitions-{VERSION}-{digest[:12]}.json"


def ensure_fetched(tell: Callable[[str], None] = print) -> Path:
    """Give the path of the definitions, fetching them first if this machine has none yet. Raises LabError."""
    found = path()
    if not found.exists():
        with exclusive(found.with_suffix(".lock")):
            if not found.exists():
                tell(f"fetching the definitions of Longhorn {VERSION}, once per machine")
                _fetch(found, tell)
    return found


@cache
def _all() -> tuple[Json, ...]:
    return tuple(json.loads(ensure_fetched(lambda line: print(line, file=sys.stderr, flush=True)).read_text()))


def definitions() -> list[Json]:
    """The CustomResourceDefinitions, as the API server takes them, in the order of the file. Raises LabError."""
    return [copied(each) for each in _all()]


def _fetch(target: Path, tell: Callable[[str], None]) -> None:
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=target.parent) as scratch:
        argv = [str(toolchain(_GO, tell)), "mod", "download", "-json", f"{MODULE}@{VERSION}"]
        environment = {**os.environ, "GOFLAGS": "", "GOWORK": "off"}
        result = subprocess.run(argv, cwd=scratch, env=environment, capture_output=True, text=True, check=False)
        answer = _read(result.stdout)
        if result.returncode != 0 or "Dir" not in answer:
            said = str(answer.get("Error") or result.stderr).strip().splitlines() or ["no output"]
            raise LabError(f"The Go module {MODULE}@{VERSION} could not be fetched: {said[-1]}.")
        if answer.get("Sum") != SUM:
            raise LabError(
                f"The Go module {MODULE}@{VERSION} has the checksum {answer.get('Sum')} instead of {SUM}; "
                f"find out who changed it before anything uses it."
            )
        made = Path(scratch) / "definitions.json"
        made.write_text(json.dumps(parsed((Path(answer["Dir"]) / FILE).read_text())))
        made.chmod(0o644)
        made.rename(target)


def _read(text: str) -> Json:
    try:
        answer = json.loads(text)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def parsed(text: str) -> list[Json]:
    """The definitions in the file of the module, which is a template of a chart: its one expression adds labels."""
    plain = re.sub(r"\{\{-.*?\}\}", "", text)
    return [each for each in yaml.safe_load_all(plain) if each]
