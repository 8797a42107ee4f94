"""The rooms of plugins/ and who may import whom.

Imports go one way: action plugins and modules → entry → systems → pools → run → kubernetes → common. A system shows the
one data flow in its folders: observe ← judge ← act ← the work of its modules, which lies above them. A judge is
pure: no client, no clock, no Ansible; nor is anything that it imports. Pure is every folder judge/, common/verdict.py,
and every file whose docstring says "Pure:". The run knows no system, not even by name. Sleeping is done in one place,
common/waiting.py.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

PLUGINS = Path("plugins")
SYSTEMS = ("extra_machines", "longhorn", "machines", "opensearch", "openshift", "restart")
FLOORS = {
    "common": 0,
    "kubernetes": 1,
    "monitoring": 1,
    "run": 2,
    "fleet": 2,
    "pools": 3,
    "draining": 3,
    **dict.fromkeys(SYSTEMS, 4),
    # It asks the systems that live on Kubernetes nodes, for those that take the nodes down.
    "workloads": 4,
    # A restart of processes observes and judges the members with the room of their server.
    "restart": 5,
    "entry": 5,
    "doc_fragments": 5,
    "modules": 5,
    "plugin_utils": 6,
    "action": 7,
    "callback": 7,
    "filter": 7,
    "inventory": 7,
    "lookup": 7,
}
"""A room imports from its own floor or one below."""
FOLDERS = {"observe": 0, "judge": 1, "act": 2, "": 3}
"""Within a system a file imports from its own folder or one before; what is outside them imports from all."""
RUN_KNOWS_NOT = re.compile(
    r"shard|(?<!context)(?<!alert)manager|\belected\b|index\b|indices|opensearch|elasticsearch|longhorn|openshift|machineset",
    re.IGNORECASE,
)
"""Words of one system."""

WAITING = Path("plugins/module_utils/common/waiting.py")
IMPURE = frozenset(
    [
        "aiohttp",
        "ansible",
        "asyncio",
        "http",
        "kubernetes",
        "os",
        "random",
        "requests",
        "select",
        "signal",
        "socket",
        "ssl",
        "subprocess",
        "tempfile",
        "threading",
        "time",
        "urllib3",
    ]
)
IMPURE_PARTS = frozenset({("urllib", "request")})
CLOCKS = frozenset({"now", "today", "utcnow"})
"""The functions of datetime that read the clock."""


def folder_of(path: Path) -> str:
    """The folder within a room, such as judge; empty for a file outside such a folder."""
    parts = path.relative_to(PLUGINS).parts
    return parts[2] if parts[0] == "module_utils" and len(parts) > 3 else ""


def room_of(path: Path) -> str:
    """The room of a file: the folder in module_utils, or else the folder in plugins."""
    parts = path.relative_to(PLUGINS).parts
    return parts[1] if parts[0] == "module_utils" and len(parts) > 2 else parts[0]


def own_imports(path: Path, tree: ast.Module, known: Mapping[Path, ast.Module]) -> Iterator[tuple[int, Path]]:
    """The files of the collection that a file imports, with the line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            folder = _folder(path, node)
            if folder is None:
                continue
            for alias in node.names:
                for target in (folder / f"{alias.name}.py", folder.with_suffix(".py"), folder / "__init__.py"):
                    if target in known:
                        yield node.lineno, target
                        break


def _folder(path: Path, node: ast.ImportFrom) -> Path | None:
    names = (node.module or "").split(".") if node.module else []
    if node.level:
        return path.parents[node.level - 1].joinpath(*names)
    if names[:3] == ["ansible_collections", "stateful", "upgrade"]:
        return Path(*names[3:])
    return None


def foreign_imports(tree: ast.Module) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The packages from outside the collection that a file imports, in parts, with the line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, tuple(alias.name.split("."))) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield from ((node.lineno, (*node.module.split("."), alias.name)) for alias in node.names)


def room_breaches(files: Mapping[Path, ast.Module]) -> Iterator[str]:
    """The breaches of the order of the rooms in these files of plugins/, one line each, path first."""
    imports = {path: list(own_imports(path, tree, files)) for path, tree in files.items()}
    yield from wrong_way(imports)
    yield from against_the_flow(imports)
    yield from circles(imports)
    yield from words_of_a_system(files)
    for path, origin in sorted(pure_files(files, imports).items()):
        because = "is pure" if path == origin else f"is imported by {origin}, which is pure"
        yield from (f"{path}:{line}: {what}, but this file {because}" for line, what in impurities(files[path]))
    for path, tree in files.items():
        if path != WAITING:
            yield from (f"{path}:{line}: sleeps; only {WAITING} does" for line in sleeping(tree))


def wrong_way(imports: Mapping[Path, list[tuple[int, Path]]]) -> Iterator[str]:
    """Imports that go up, and rooms without a floor."""
    for path, targets in imports.items():
        room = room_of(path)
        if room not in FLOORS:
            yield f"{path}:1: room {room} is unknown; give it a floor in tests/checks/rooms.py"
            continue
        for line, target in targets:
            if FLOORS.get(room_of(target), 0) > FLOORS[room]:
                yield f"{path}:{line}: {room} imports {room_of(target)}; imports go the other way"


def against_the_flow(imports: Mapping[Path, list[tuple[int, Path]]]) -> Iterator[str]:
    """Imports within a system that go up from observe or judge, and folders that are none of these."""
    for path, targets in imports.items():
        room, folder = room_of(path), folder_of(path)
        if room not in SYSTEMS:
            continue
        if folder not in FOLDERS:
            yield f"{path}:1: a system has the folders {', '.join(filter(None, FOLDERS))}, and no {folder}"
            continue
        for line, target in targets:
            if room_of(target) == room and FOLDERS.get(folder_of(target), 0) > FOLDERS[folder]:
                yield f"{path}:{line}: {folder} imports {folder_of(target) or target.stem}; imports go the other way"


def words_of_a_system(files: Mapping[Path, ast.Module]) -> Iterator[str]:
    """Words of one system in the run, in names, texts and documentation."""
    for path, tree in files.items():
        if room_of(path) == "run":
            for number, text in enumerate(ast.unparse(tree).splitlines(), start=1):
                for found in RUN_KNOWS_NOT.finditer(text):
                    yield f"{path}:1: the run knows no system, and says {found[0]} (line {number} without comments)"


def circles(imports: Mapping[Path, list[tuple[int, Path]]]) -> Iterator[str]:
    """Rooms that import each other, directly or through others."""
    uses: dict[str, set[str]] = {}
    for path, targets in imports.items():
        uses.setdefault(room_of(path), set()).update(room_of(target) for _line, target in targets)
    for room in sorted(uses):
        reached, left = set[str](), uses[room] - {room}
        while left:
            reached.add(one := left.pop())
            left |= uses.get(one, set()) - reached - {one}
        if room in reached:
            yield f"{PLUGINS}:1: room {room} imports itself through {', '.join(sorted(reached - {room}))}"


def pure_files(files: Mapping[Path, ast.Module], imports: Mapping[Path, list[tuple[int, Path]]]) -> dict[Path, Path]:
    """The files that must be pure, each with the one that makes it so: itself, or a pure one that needs it."""
    found = {path: path for path, tree in files.items() if declared_pure(path, tree)}
    left = list(found)
    while left:
        path = left.pop()
        for _line, target in imports[path]:
            if target not in found:
                found[target] = found[path]
                left.append(target)
    return found


def declared_pure(path: Path, tree: ast.Module) -> bool:
    """Whether the room or the docstring says that a file is pure."""
    return folder_of(path) == "judge" or path.name == "verdict.py" or "Pure:" in (ast.get_docstring(tree) or "")


def impurities(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Clients, clocks and Ansible in a file, with the line."""
    for line, parts in foreign_imports(tree):
        if parts[0] in IMPURE or parts[:2] in IMPURE_PARTS:
            yield line, f"imports {'.'.join(parts)}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CLOCKS:
            yield node.lineno, f"asks for the time by {node.func.attr}()"


def sleeping(tree: ast.Module) -> Iterator[int]:
    """The lines where a file sleeps by the machine's clock, or imports the means to."""
    for line, parts in foreign_imports(tree):
        if parts[-1] == "sleep":
            yield line
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "sleep":
            yield node.lineno
