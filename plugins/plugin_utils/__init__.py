"""Makes Python keep the compiled files of the collection, as for every other package.

The importer of ansible-core compiles the files of collections whenever a controller starts (ansible-core,
utils/collection_loader/_collection_finder.py, `get_code`): for the 260 files of a plan, half of its time. Every plugin
imports this package first.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from importlib.machinery import FileFinder, ModuleSpec, SourceFileLoader
from types import ModuleType

_PLUGINS = __name__.rpartition(".")[0]
ROOMS = tuple(f"{_PLUGINS}.{room}." for room in ("module_utils", "modules", "plugin_utils"))
"""The packages whose files are found here; ansible-core finds everything else."""


class CompiledFiles:
    """A finder of files that are compiled once, and again when they have changed."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, _target: ModuleType | None = None) -> ModuleSpec | None:
        """The file of this module, or None if it is not of one of `ROOMS`."""
        if not name.startswith(ROOMS):
            return None
        found = (_finder(folder).find_spec(name) for folder in path or ())
        # A folder has no loader.
        return next((spec for spec in found if spec is not None and spec.loader is not None), None)


@cache
def _finder(folder: str) -> FileFinder:
    return FileFinder(folder, (SourceFileLoader, [".py"]))


def _find_before(finder: str) -> None:
    """Find files before the finder whose class has this name, if there is one."""
    known = [type(each).__name__ for each in sys.meta_path]
    if finder in known and CompiledFiles not in sys.meta_path:
        sys.meta_path.insert(known.index(finder), CompiledFiles)


_find_before("_AnsibleCollectionFinder")
