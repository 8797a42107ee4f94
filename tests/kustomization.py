"""Builds the folders of extensions/gitops as kustomize does, with the few of its features that they use.

The program itself takes a minute and a half to build from its sources, which no test is worth. Its output was
compared by hand with this one. A feature that is not known here is refused, so that the folders stay as plain as that.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]
KNOWN = frozenset({"apiVersion", "kind", "resources", "namespace", "images", "configMapGenerator", "patches"})
OF_CLUSTER = frozenset({"Namespace", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition"})
NAME = "kustomization.yaml"


def built(folder: Path) -> list[Json]:
    """The objects of a folder, in their order. Generated names bear no digest of their content here.

    Raises:
        ValueError: a feature is not known here.
    """
    given = yaml.safe_load((folder / NAME).read_text(encoding="utf-8"))
    if unknown := given.keys() - KNOWN:
        raise ValueError(
            f"{folder / NAME} has {', '.join(sorted(unknown))}, which tests/kustomization.py does not know."
        )
    objects = [each for name in given.get("resources", []) for each in _resource(folder / name)]
    objects += [_generated(folder, each) for each in given.get("configMapGenerator", [])]
    for patch in given.get("patches", []):
        if patch.keys() != {"path"}:
            raise ValueError(f"{folder / NAME} has a patch that is not a file of its own.")
        changes = yaml.safe_load((folder / patch["path"]).read_text(encoding="utf-8"))
        objects = [_merged(each, changes) if _named(each) == _named(changes) else each for each in objects]
    objects = [_with_images(each, given.get("images", [])) for each in objects]
    return _in_namespace(objects, given["namespace"]) if "namespace" in given else objects


def named_files(folder: Path) -> set[str]:
    """The files of a folder that its kustomization names, without other folders."""
    given = yaml.safe_load((folder / NAME).read_text(encoding="utf-8"))
    names = {name for name in given.get("resources", []) if (folder / name).is_file()}
    names |= {patch["path"] for patch in given.get("patches", [])}
    return names | {name for each in given.get("configMapGenerator", []) for name in each["files"]}


def containers_of(node: Any) -> Iterator[Json]:
    """All containers of an object."""
    if isinstance(node, dict):
        for name, value in node.items():
            if name in {"containers", "initContainers"}:
                yield from value
            yield from containers_of(value)
    elif isinstance(node, list):
        for value in node:
            yield from containers_of(value)


def _resource(path: Path) -> list[Json]:
    if path.is_dir():
        return built(path)
    return [each for each in yaml.safe_load_all(path.read_text(encoding="utf-8")) if each]


def _generated(folder: Path, generator: Json) -> Json:
    if generator.keys() != {"name", "files"}:
        raise ValueError(f"{folder / NAME} has a generator with more than a name and files.")
    data = {Path(name).name: (folder / name).read_text(encoding="utf-8") for name in generator["files"]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": generator["name"]}, "data": data}


def _named(given: Json) -> tuple[str, str]:
    return given["kind"], given["metadata"]["name"]


def _merged(given: Any, changes: Any) -> Any:
    if not isinstance(given, dict) or not isinstance(changes, dict):
        return changes
    return {**given, **{name: _merged(given.get(name), value) for name, value in changes.items()}}


def _with_images(given: Json, images: list[Json]) -> Json:
    changed = copy.deepcopy(given)
    for container in containers_of(changed):
        for image in images:
            if container["image"].partition(":")[0] == image["name"]:
                container["image"] = f"{image.get('newName', image['name'])}:{image['newTag']}"
    return changed


def _in_namespace(objects: list[Json], namespace: str) -> list[Json]:
    """Kustomize also writes the namespace of a subject whose account is among the objects."""
    changed = copy.deepcopy(objects)
    accounts = {each["metadata"]["name"] for each in changed if each["kind"] == "ServiceAccount"}
    for each in changed:
        if each["kind"] not in OF_CLUSTER:
            each["metadata"]["namespace"] = namespace
        for subject in each.get("subjects", []):
            if subject["kind"] == "ServiceAccount" and subject["name"] in accounts:
                subject["namespace"] = namespace
    return changed
