"""The UpgradeConfig as request, and as the place where its upgrade is reported.

Its definition is `roles/openshift/files/upgrade_config.yml`. The state of the request is noted in an annotation, as on
a ConfigMap, and the upgrade is reported in `status.history`, as managed-upgrade-operator does it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..common.attempts import until_unchanged
from ..common.reading import listed, part, text, within
from ..common.verdict import Verdict, remark
from ..kubernetes.answers import reading_object
from ..kubernetes.client import Json, KubernetesClient
from ..kubernetes.paths import in_namespace
from ..run.record.record import Record
from ..run.start.request import Request, read_request
from ..run.start.request_sources import STATE, place_of
from .history import Entry, history_of, with_new
from .judge.upgrade_config import faults_in, variables_of
from .observe.kinds import UPGRADE_CONFIGS
from .observe.look import other_upgrader

UPGRADE_CONFIG = "upgradeconfig/"
"""The start of a source that is an UpgradeConfig."""
SYSTEM = "openshift"
"""The type of the request."""
UNBEGUN = ("invalid", "waiting", "delayed", "refused")
"""States of a request whose upgrade may have no record yet."""
UNFIT = ("invalid", "refused")
"""Those of them whose cause is a condition of the history, too."""
ATTEMPTS = 3


@dataclass(frozen=True)
class UpgradeConfig:
    """One UpgradeConfig."""

    client: KubernetesClient
    namespace: str
    name: str

    @classmethod
    def named(cls, given: str, connect: Any, options: Mapping[str, Any]) -> UpgradeConfig:
        """The one that a source names: `upgradeconfig/NAME`, or `upgradeconfig/NAMESPACE/NAME`.

        Raises:
            Refusal: no namespace is given.
        """
        return cls(connect(options["kubernetes"]), *place_of(given, UPGRADE_CONFIG, options))

    @property
    def where(self) -> str:
        """Its name."""
        return f"UpgradeConfig {self.name} in namespace {self.namespace}"

    def read(self) -> Request | None:
        """The request that its spec is."""
        found = self.client.get(self._path())
        if found is None:
            return None
        with reading_object("UpgradeConfig", found):
            spec = part(found, "spec", {})
            document = json.dumps({"type": SYSTEM, **variables_of(spec)}, ensure_ascii=False)
            faults = tuple(faults_in(spec))
        request = read_request(document, self.where)
        return replace(request, faults=(*faults, *request.faults))

    def note(self, state: str) -> bool:
        """Note the state in an annotation. A history that does not have its version gets an entry for it.

        The version is that of the plan; without a plan that of the spec, which has none if it names an image.
        """
        body: Json = {"metadata": {"annotations": {STATE: state}}}
        found, noted = self.client.patch(self._path(), body, "merge"), json.loads(state)
        if noted.get("state") in UNBEGUN:
            with reading_object("UpgradeConfig", found):
                asked = within(found, "spec", lambda spec: variables_of(spec).get("target_version", ""))
            version = str(noted.get("target_version") or asked)
            fault = str(noted.get("message", "")) if noted["state"] in UNFIT else ""
            self._write(lambda kept: with_new(version, kept, fault, str(noted.get("at", ""))))
        return True

    def judge(self) -> Verdict:
        """A remark that no pod is forced, whatever it asks for."""
        said = f"The PDBForceDrainTimeout of {self.where} has no effect: upgrade_allow_forced_drains alone forces pods."
        return Verdict((remark("drain_not_forced", said),))

    def answer(self, record: Record) -> None:
        """Report in its status how far the upgrade of the record has come.

        Raises:
            Refusal: it cannot be read or written.
        """
        self._write(lambda kept: history_of(record, kept))

    def _write(self, change: Callable[[Sequence[Entry]], list[Entry]]) -> None:
        """Write the history that `change` makes of the present one, over the object that was read."""

        def attempt() -> None:
            found = self.client.get(self._path())
            if found is None:
                return
            with reading_object("UpgradeConfig", found):
                kept = within(found, "status", lambda status: listed(status, "history", dict, ()), {})
                version = within(found, "metadata", lambda metadata: text(metadata, "resourceVersion"))
            history = change(kept)
            # A status that the operator itself writes is left to it; the run is refused then.
            if history != list(kept) and not other_upgrader(self.client):
                body: Json = {"metadata": {"resourceVersion": version}, "status": {"history": history}}
                self.client.patch(self._path("status"), body, "merge")

        until_unchanged(attempt, ATTEMPTS)

    def _path(self, subresource: str = "") -> str:
        return in_namespace(UPGRADE_CONFIGS, self.namespace, "upgradeconfigs", self.name, subresource)
