"""Templates that were compiled once, for all workers of all playbooks of a fleet.

A worker of Ansible compiles each template of its task, and ends. The next run compiles all of them again, which takes a
third of its time. So the code of a template is kept in a file, whose name is made from all that the code depends on.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import marshal
import os
from collections.abc import Mapping
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # a module on another machine may be without it
    from jinja2 import Environment, nodes

MARKS = (
    "block_start_string",
    "block_end_string",
    "variable_start_string",
    "variable_end_string",
    "comment_start_string",
    "comment_end_string",
    "trim_blocks",
    "lstrip_blocks",
    "keep_trailing_newline",
)
"""Settings of an environment that a text can change."""


def key_of(environment: Environment, source: Any, options: Any, named: Mapping[str, Any]) -> str:
    """All that the code of a template depends on, as one text."""
    given = [str(source) if isinstance(source, str) else repr(source), options, sorted(named.items())]
    settings = [type(environment).__qualname__, *(getattr(environment, mark) for mark in MARKS)]
    return repr([*settings, *given])


def keep_compiled_templates(folder: Path) -> None:
    """Make this process, and those that it forks, keep the code of templates in that folder."""
    environment: Any = importlib.import_module("jinja2").Environment
    compiled = environment.compile

    def from_file_or_compiled(
        self: Environment, source: str | nodes.Template, *options: Any, **named: Any
    ) -> CodeType | str:
        name = hashlib.sha256(key_of(self, source, options, named).encode()).hexdigest()
        with contextlib.suppress(OSError, EOFError, ValueError, TypeError):
            code: CodeType = marshal.loads((folder / name).read_bytes())  # noqa: S302 - it is our own file
            return code
        made: CodeType | str = compiled(self, source, *options, **named)
        with contextlib.suppress(OSError, ValueError):
            unfinished = folder / f"{name}.{os.getpid()}"
            unfinished.write_bytes(marshal.dumps(made))
            unfinished.replace(folder / name)
        return made

    environment.compile = from_file_or_compiled
