"""The data paths of members, and whether the data there outlives their pods. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from posixpath import join

from ...common.reading import Json, named, optional_text, part, text, texts
from ...kubernetes.state import StatefulSet
from ...kubernetes.volumes import is_mounted, outlives_pods, variable
from .products import Product
from .state import silence

SETTING = "path.data"
FIRST_NODE = "nodes/0"
"""The folder that the server makes under each data path (server source, NodeEnvironment); a mount may be that deep."""

DataPaths = Mapping[str, tuple[str, ...]]
"""Data paths by the name of the member."""


def parse_data_paths(nodes_settings: Json) -> dict[str, tuple[str, ...]]:
    """The data paths of each member from `GET _nodes/_all/settings`: `path.data`, or `data` under `path.home`.

    A member that does not report its home gets no paths.
    """
    return dict(named(nodes_settings, "nodes", lambda _identity, node: (text(node, "name"), _paths(node)), {}).values())


def said_by_all(known: DataPaths, members: Iterable[str]) -> DataPaths:
    """The known data paths, which must be known for each of these members of the cluster.

    Raises:
        Unreachable: a member has not reported its own. The paths of others do not stand in for them.
    """
    missing = set(members) - known.keys()
    if missing:
        raise silence("_nodes/_all/settings", missing)
    return known


def _paths(node: Json) -> tuple[str, ...]:
    path = part(part(node, "settings", {}), "path", {})
    home = optional_text(path, "home")
    given = texts(path, "data") if isinstance(path.get("data"), list) else (text(path, "data", "data"),)
    return tuple(join(home, each) for each in given) if home else ()


def keeps_data(pool: StatefulSet, known: DataPaths, product: Product) -> bool:
    """Whether the members of a pool have their data again in the next pod.

    The paths are those of the pool's own members, or of all members while none of the pool is there. A path that no
    volume of the pool covers may be a link's target; then the path is that of the template (`path.data` as a variable),
    or the default of the image.
    """
    own = {path for name in pool.member_names() for path in known.get(name, ())}
    said = _mounted(pool, own or {path for paths in known.values() for path in paths})
    given = variable(pool, SETTING)
    return outlives_pods(
        pool, said or [join(each, FIRST_NODE) for each in (given.split(",") if given else [product.data_path])]
    )


def _mounted(pool: StatefulSet, paths: Collection[str]) -> list[str]:
    """The folders in which a server starts to write, if all of them are on volumes; else none."""
    begun = [join(path, FIRST_NODE) for path in sorted(paths)]
    return begun if all(is_mounted(pool, path) for path in begun) else []
