"""The real custom resource definitions of a system, out of the Go module of its controllers.

The module is fetched by the Go client, once per machine. Its checksum is the one that `go.sum` files hold; another one
is refused, whatever the client says. Nothing of it is kept here: the cache holds the definitions, as one JSON file.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from tests.lab.cache import cache_root, exclusive
from tests.lab.errors import LabError
from tests.lab.go import toolchain
from tests.sandbox.kubernetes.objects import Json, copied

_GO = "1.21.0"
"""Any Go that fetches a module of another version than its own."""


def documents_of(text: str) -> list[Json]:
    """The documents of a file of YAML."""
    return [each for each in yaml.safe_load_all(text) if each]


@dataclass(frozen=True)
class ModuleDefinitions:
    """The definitions in files of one version of a module."""

    system: str
    """The name of the system in sentences; in small letters, that of its folder in the cache."""
    module: str
    version: str
    checksum: str
    files: Sequence[str]
    parsed: Callable[[str], list[Json]] = documents_of
    """It makes definitions of the text of a file."""

    def path(self) -> Path:
        """The path of these very definitions in the cache."""
        whole = f"{self.module}@{self.version} {self.checksum} {' '.join(self.files)}"
        digest = hashlib.sha256(whole.encode()).hexdigest()
        folder = cache_root() / self.system.lower().replace(" ", "-")
        return folder / f"definitions-{self.version}-{digest[:12]}.json"

    def ensure_fetched(self, tell: Callable[[str], None] = print) -> Path:
        """Give the path of the definitions, fetching them first if this machine has none yet. Raises LabError."""
        found = self.path()
        if not found.exists():
            with exclusive(found.with_suffix(".lock")):
                if not found.exists():
                    tell(f"fetching the definitions of {self.system} {self.version}, once per machine")
                    self._fetch(found, tell)
        return found

    def definitions(self) -> list[Json]:
        """The CustomResourceDefinitions, as the API server takes them, in the order of the files. Raises LabError."""
        kept = _kept(self.ensure_fetched(lambda line: print(line, file=sys.stderr, flush=True)))
        return [copied(each) for each in kept]

    def _fetch(self, target: Path, tell: Callable[[str], None]) -> None:
        module = f"{self.module}@{self.version}"
        with tempfile.TemporaryDirectory(prefix="fetch-", dir=target.parent) as scratch:
            argv = [str(toolchain(_GO, tell)), "mod", "download", "-json", module]
            environment = {**os.environ, "GOFLAGS": "", "GOWORK": "off"}
            result = subprocess.run(argv, cwd=scratch, env=environment, capture_output=True, text=True, check=False)
            answer = _read(result.stdout)
            if result.returncode != 0 or "Dir" not in answer:
                said = str(answer.get("Error") or result.stderr).strip().splitlines() or ["no output"]
                raise LabError(f"The Go module {module} could not be fetched: {said[-1]}.")
            if answer.get("Sum") != self.checksum:
                raise LabError(
                    f"The Go module {module} has the checksum {answer.get('Sum')} instead of {self.checksum}; "
                    f"find out who changed it before anything uses it."
                )
            made = Path(scratch) / "definitions.json"
            texts = [(Path(answer["Dir"]) / file).read_text(encoding="utf-8") for file in self.files]
            made.write_text(json.dumps([each for text in texts for each in self.parsed(text)]))
            made.chmod(0o644)
            made.rename(target)


@cache
def _kept(path: Path) -> tuple[Json, ...]:
    return tuple(json.loads(path.read_text(encoding="utf-8")))


def _read(text: str) -> Json:
    try:
        answer = json.loads(text)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}
