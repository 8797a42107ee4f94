"""A Go program that is built once per machine, from a small module here and others out of the module proxy."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.lab.cache import cache_root, exclusive
from tests.lab.errors import LabError
from tests.lab.go import toolchain

NO_DEBUGGER = "-gcflags=all=-dwarf=false"
"""The linker drops what a debugger reads; the compiler takes a fifth longer to write it."""
Change = Callable[[str], str]


@dataclass(frozen=True)
class Patched:
    """A file of another module that is changed for the lab."""

    module: str
    file: str
    change: Change
    """It makes the text to build of the text that there is. Raises LabError."""


@dataclass(frozen=True)
class GoProgram:
    """The program of a folder with its Go files, `go.mod` and `go.sum`."""

    name: str
    """Also the name of its folder in the cache."""
    source: Path
    takes: str
    """About how long the build takes."""
    linker_flags: Callable[[], str] = lambda: "-s -w"
    patched: Patched | None = None
    package: str = "."
    """The package of its main function: of this folder, or of a module that is a tool of its `go.mod`."""
    recipe: str = ""
    """Another text is another program: what the files of the folder do not say."""

    def path(self) -> Path:
        """The path of the binary of this very source."""
        inputs = [*sorted(self.source.glob("*.go")), self.source / "go.mod", self.source / "go.sum"]
        parts = [path.read_bytes() for path in inputs]
        digest = hashlib.sha256(b"".join([*parts, self.recipe.encode()])).hexdigest()
        return cache_root() / f"{self.name}-{digest[:12]}" / self.name

    def ensure_built(self, tell: Callable[[str], None] = print) -> Path:
        """Give the binary's path, building it first if this machine has none yet. Raises LabError."""
        binary = self.path()
        if binary.exists():
            return binary
        with exclusive(binary.parent.parent / f"{binary.parent.name}.lock"):
            if not binary.exists():
                tell(f"building the {self.name.replace('-', ' ')}, once per machine, about {self.takes}")
                self._build(binary, tell)
        return binary

    def requirement(self, pattern: str) -> str:
        """The part of `go.mod` that a pattern finds. Raises LabError."""
        found = re.search(pattern, (self.source / "go.mod").read_text(), re.MULTILINE)
        if found is None:
            said = f"{self.name.replace('-', ' ')} lacks a line like {pattern!r}; restore the file."
            raise LabError(f"go.mod of the {said}")
        return found.group(1)

    def _build(self, binary: Path, tell: Callable[[str], None]) -> None:
        """Build next to the final place, then rename: an interrupted build leaves nothing that looks finished."""
        binary.parent.mkdir(parents=True, exist_ok=True)
        binary.parent.chmod(0o755)
        go = str(toolchain(self.requirement(r"^go (\S+)$"), tell))
        with tempfile.TemporaryDirectory(prefix="build-", dir=binary.parent) as scratch:
            made = Path(scratch) / self.name
            argv = ["nice", go, "build", "-trimpath", NO_DEBUGGER, f"-ldflags={self.linker_flags()}"]
            argv += [*self._changed(go, Path(scratch)), "-o", str(made), self.package]
            log = binary.parent / "build.log"
            with log.open("wb") as output:
                result = subprocess.run(
                    argv, cwd=self.source, env=_environment(), stdout=output, stderr=subprocess.STDOUT, check=False
                )
            if result.returncode != 0:
                last = (log.read_text(errors="replace").strip().splitlines() or ["no output"])[-1]
                said = f"{self.name.replace('-', ' ')} could not be built: {last}; the whole output is in {log}."
                raise LabError(f"The {said}")
            made.rename(binary)

    def _changed(self, go: str, scratch: Path) -> list[str]:
        """The flags by which the build takes a changed copy of the module: Go changes nothing that it has fetched."""
        if self.patched is None:
            return []
        argv = [go, "mod", "download", "-json", self.patched.module]
        result = subprocess.run(argv, cwd=self.source, env=_environment(), capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise LabError(f"The Go module {self.patched.module} could not be fetched: {result.stderr.strip()}.")
        copy = scratch / "module"
        shutil.copytree(json.loads(result.stdout)["Dir"], copy, ignore=shutil.ignore_patterns("vendor"))
        for folder, _folders, _files in os.walk(copy):
            # No one may write into the modules that Go has fetched.
            Path(folder).chmod(0o755)
        file = copy / self.patched.file
        text = self.patched.change(file.read_text(encoding="utf-8"))
        file.unlink()
        file.write_text(text, encoding="utf-8")
        replaced = f"\nreplace {self.patched.module} => {copy}\n"
        (scratch / "go.mod").write_text((self.source / "go.mod").read_text() + replaced)
        shutil.copy(self.source / "go.sum", scratch / "go.sum")
        return [f"-modfile={scratch / 'go.mod'}"]


def _environment() -> Mapping[str, str]:
    return {**os.environ, "GOFLAGS": "-mod=readonly -buildvcs=false", "GOGC": "400", "CGO_ENABLED": "0"}
