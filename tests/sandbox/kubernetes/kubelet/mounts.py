"""The files that a pod has mounted from Secrets and ConfigMaps, which follow those with a delay.

Rules: a kubelet looks at the volumes of its pods again and again, and replaces the files of one at once; a file that is
mounted by subPath stays as it was when its container started (Kubernetes, pkg/kubelet/volumemanager and
pkg/volume/util/atomic_writer.go).
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tests.sandbox.kubernetes.kinds import CONFIG_MAPS, SECRETS
from tests.sandbox.kubernetes.objects import Json, Kind
from tests.sandbox.kubernetes.resources import Resources
from tests.sandbox.kubernetes.store import Change

if TYPE_CHECKING:
    from tests.sandbox.clock import Clock

Files = Mapping[str, bytes]
"""Content by path in a volume."""
_SOURCES = (("secret", SECRETS, "secretName"), ("configMap", CONFIG_MAPS, "name"))


class Mounts:
    """The volumes of one pod. `delay` gives the seconds that a change takes to arrive, at the time of the change."""

    def __init__(self, resources: Resources, pod: Json, delay: Callable[[], float]) -> None:
        self._resources, self._pod, self._delay = resources, pod, delay
        self._volumes: dict[str, Files] = {}
        self._at_start: dict[str, dict[str, Files]] = {}

    @property
    def _clock(self) -> Clock:
        return self._resources.store.clock

    def mount(self) -> None:
        """Mount all volumes with the content of now."""
        for volume in self._pod["spec"].get("volumes", []):
            self._read(volume)

    def changed(self, change: Change) -> None:
        """Take a change of any object; what a volume holds of it comes later."""
        for volume in self._pod["spec"].get("volumes", []):
            for field, kind, key in _SOURCES:
                about = change.item["metadata"]
                named = (about.get("namespace"), about["name"]) == (self._namespace, volume.get(field, {}).get(key))
                if change.kind == kind and named and volume["name"] in self._volumes:
                    self._clock.later(self._delay(), lambda volume=volume: self._read(volume))  # type: ignore[misc]

    @property
    def _namespace(self) -> str:
        return str(self._pod["metadata"]["namespace"])

    def _read(self, volume: Json) -> None:
        for field, kind, key in _SOURCES:
            if field not in volume:
                continue
            found = self._resources.store.kept(kind, self._namespace, volume[field][key])
            # The files of an object that has gone stay.
            if found is not None or volume["name"] not in self._volumes:
                self._volumes[volume["name"]] = _chosen(volume[field], _data(kind, found or {}))

    def started(self, container: str) -> None:
        """A container starts: what it mounts by subPath is now what it stays."""
        self._at_start[container] = dict(self._volumes)

    def file(self, container: Json, path: str) -> bytes | None:
        """The content of a file as a container sees it now; None if no volume has it."""
        for mount in sorted(container.get("volumeMounts", []), key=lambda each: -len(each["mountPath"])):
            where, inside = mount["mountPath"].rstrip("/"), mount.get("subPath") or mount.get("subPathExpr") or ""
            if path != where and not path.startswith(f"{where}/"):
                continue
            volumes = self._at_start.get(container["name"], {}) if inside else self._volumes
            wanted = "/".join(filter(None, (inside, path[len(where) :].strip("/"))))
            return volumes.get(mount["name"], {}).get(wanted)
        return None


def _data(kind: Kind, item: Json) -> dict[str, bytes]:
    coded = item.get("data" if kind == SECRETS else "binaryData") or {}
    plain = {} if kind == SECRETS else item.get("data") or {}
    decoded = {key: base64.b64decode(value) for key, value in coded.items()}
    return {key: value.encode() for key, value in plain.items()} | decoded


def _chosen(source: Json, data: Files) -> Files:
    if "items" not in source:
        return data
    return {each["path"]: data[each["key"]] for each in source["items"] if each["key"] in data}
