"""Builds the folders of extensions/gitops as kustomize does, with the few of its features that they use.

The program itself takes a minute and a half to build from its sources, which no test is worth. Its output was
compared by hand with this one. A feature that is not known here is refused, so that the folders stay as plain as that.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]
KNOWN = frozenset(
    {"apiVersion", "kind", "resources", "components", "namespace", "images", "configMapGenerator", "patches"}
)
DELETES = {"$patch": "delete"}
OF_CLUSTER = frozenset({"Namespace", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition"})
NAME = "kustomization.yaml"


def built(folder: Path, others: Mapping[str, str] | None = None) -> list[Json]:
    """The objects of a folder, in their order. Generated names bear no digest of their content here.

    Args:
        folder: A folder with a kustomization.
        others: The folders in the place of others that it names, by the names of these.

    Raises:
        ValueError: a feature is not known here.
    """
    given = yaml.safe_load((folder / NAME).read_text(encoding="utf-8"))
    if unknown := given.keys() - KNOWN:
        raise ValueError(
            f"{folder / NAME} has {', '.join(sorted(unknown))}, which tests/kustomization.py does not know."
        )
    named = [(others or {}).get(name, name) for name in given.get("resources", [])]
    objects = [each for name in named for each in _resource(folder / name)]
    for name in given.get("components", []):
        objects = _built_on(objects, folder / name)
    objects += [_generated(folder, each) for each in given.get("configMapGenerator", [])]
    objects = _patched(objects, folder, given)
    objects = [_with_images(each, given.get("images", [])) for each in objects]
    return _in_namespace(objects, given["namespace"]) if "namespace" in given else objects


def _built_on(objects: list[Json], folder: Path) -> list[Json]:
    """The objects with those of a component, and with its patches."""
    given = yaml.safe_load((folder / NAME).read_text(encoding="utf-8"))
    if given.keys() - {"apiVersion", "kind", "resources", "patches"}:
        raise ValueError(f"{folder / NAME} is a component with more than resources and patches.")
    return _patched(
        [*objects, *(each for name in given["resources"] for each in _resource(folder / name))], folder, given
    )


def _patched(objects: list[Json], folder: Path, given: Json) -> list[Json]:
    for patch in given.get("patches", []):
        target = patch.get("target", {})
        if patch.keys() - {"target"} != {"path"} or target.keys() - {"kind"}:
            raise ValueError(f"{folder / NAME} has a patch that is not a file of its own, for an object or a kind.")
        changes = yaml.safe_load((folder / patch["path"]).read_text(encoding="utf-8"))
        is_meant = [each["kind"] == target["kind"] if target else _named(each) == _named(changes) for each in objects]
        if not target and not any(is_meant):
            raise ValueError(f"{folder / NAME} has a patch for an object that is not there.")
        if changes.items() >= DELETES.items():
            objects = [each for each, meant in zip(objects, is_meant, strict=True) if not meant]
            continue
        objects = [_merged(each, changes) if meant else each for each, meant in zip(objects, is_meant, strict=True)]
    return objects


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
    if isinstance(given, list) and isinstance(changes, list) and all("name" in each for each in (*given, *changes)):
        # Containers and variables are merged by name; here a list that has no names is replaced, as by kustomize.
        own = {each["name"]: each for each in changes}
        kept = [_merged(each, own.pop(each["name"], {})) for each in given]
        return [*kept, *own.values()]
    if not isinstance(given, dict) or not isinstance(changes, dict):
        return changes
    whole = {**given, **{name: _merged(given.get(name), value) for name, value in changes.items()}}
    return {name: value for name, value in whole.items() if value is not None}


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
