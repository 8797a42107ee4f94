"""Records as ConfigMaps in the namespace of the pods."""

from __future__ import annotations

from dataclasses import dataclass

from ...common.reading import part, text, text_map, within
from ...kubernetes.answers import reading_object
from ...kubernetes.client import Json, KubernetesClient
from ...kubernetes.events import report_phase
from ...kubernetes.paths import CORE, in_namespace
from ..lock.lease import MANAGED_BY, list_managed
from ..start.approvals import APPROVED
from .record_keeping import FoundRecords, Kept, News

KEY = "record.json"


@dataclass(frozen=True)
class ConfigMaps:
    """The records of a namespace."""

    client: KubernetesClient
    namespace: str

    def read(self, name: str) -> Kept | None:
        """The record of this name now."""
        item = self.client.get(self._path(name))
        return kept_in(item) if item is not None else None

    def write(self, name: str, text: str, summary: str, over: Kept | None, news: News | None = None) -> None:
        """Create the ConfigMap, or replace the record that was read; news become an event about it.

        An annotation that approves points is of the upgrade before, once the record is that of another one.
        """
        body: Json = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "labels": dict(MANAGED_BY)},
            "data": {"summary": summary, KEY: text},
        }
        if over is None:
            written = self.client.post(self._path(), body)
        else:
            body["metadata"]["resourceVersion"] = over.version
            if news is not None and news.another and APPROVED in over.annotations:
                body["metadata"]["annotations"] = {APPROVED: None}
            written = self.client.patch(self._path(name), body, "merge")
        if news is not None:
            report_phase(self.client, self.namespace, name, _uid(written), news.phase, news.message)

    def find(self) -> FoundRecords:
        """All records of the namespace."""
        kept = {}
        for item in list_managed(self.client, self._path()):
            with reading_object("ConfigMap", item):
                name, there = within(item, "metadata", lambda metadata: text(metadata, "name")), KEY in _data(item)
            if there:
                kept[name] = kept_in(item)
        return FoundRecords(kept)

    def remove(self, name: str, kept: Kept) -> None:
        """Delete the ConfigMap, if it is still the one that was read."""
        self.client.delete(self._path(name), kept.uid, resource_version=kept.version)

    def _path(self, name: str = "") -> str:
        return in_namespace(CORE, self.namespace, "configmaps", name)


def kept_in(item: Json) -> Kept:
    """The record that a ConfigMap holds."""
    with reading_object("ConfigMap", item):
        metadata = part(item, "metadata")
        where = f"ConfigMap {text(metadata, 'name')}"
        version = text(metadata, "resourceVersion", "")
        uid, annotations = text(metadata, "uid", ""), text_map(metadata, "annotations")
        return Kept(text(_data(item), KEY, ""), where, version, uid=uid, annotations=annotations)


def _uid(item: Json) -> str:
    return str((item.get("metadata") or {}).get("uid") or "")


def _data(item: Json) -> Json:
    return dict(part(item, "data", {}))
