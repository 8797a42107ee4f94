"""The databases on the Kubernetes nodes of a batch, as the user names them, each with its connection."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..common.arguments import CONSENT, OPENSEARCH, Options

LONGHORN = "longhorn"
TITLES = {"opensearch": "OpenSearch", "elasticsearch": "Elasticsearch", LONGHORN: "Longhorn"}
"""The systems that can live there."""
_SEARCH = [name for name in TITLES if name != LONGHORN]

WORKLOADS: Options = {
    "workloads": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {
            "system": {"type": "str", "required": True, "choices": list(TITLES)},
            "namespace": {"type": "str"},
            "opensearch": {
                "type": "dict",
                # A variable of the environment would give the password of one cluster to all of them. No upgrade of
                # Kubernetes nodes changes the scheme of the REST port (`after`).
                "options": {
                    name: {key: value for key, value in option.items() if key != "fallback"}
                    for name, option in OPENSEARCH["opensearch"]["options"].items()
                    if name != "after"
                },
            },
            **CONSENT,
        },
        "required_if": [("system", each, ("namespace", "opensearch")) for each in _SEARCH],
    },
}
"""The option with all of them."""
PROOF: Options = {"proof": {"type": "dict", "default": {}}}
"""The option with what was proven about them before their batch went down."""


@dataclass(frozen=True)
class Workload:
    """One of them."""

    system: str
    namespace: str | None
    connection: Mapping[str, Any] = field(default_factory=dict)
    """The connection to OpenSearch or Elasticsearch; empty for Longhorn, which is reached by the Kubernetes API."""
    consents: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Its name in sentences."""
        place = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{TITLES[self.system]}{place}"

    @property
    def product(self) -> tuple[str, str]:
        """The name of its product, and its namespace; Longhorn has none here, since a Kubernetes has one."""
        return TITLES[self.system], (self.namespace or "") if self.searches else ""

    @property
    def searches(self) -> bool:
        """Whether it is an OpenSearch or Elasticsearch, and has members."""
        return self.system != LONGHORN

    def conditions(self) -> Iterator[str]:
        """Each consent that was given for it, for the digest of a plan."""
        for name, value in self.consents.items():
            if value:
                yield f"{self.title} {name} {','.join(map(str, value)) if isinstance(value, list) else ''}".rstrip()


def consents_of_workloads(params: Mapping[str, Any]) -> dict[str, Any]:
    """The consents that were given for the databases of the option `workloads`, each named with its database."""
    return {
        f"upgrade_workloads.{name} of {each.title}": value
        for each in workloads_in(params["workloads"])
        for name, value in each.consents.items()
        if value
    }


def is_asked(params: Mapping[str, Any], product: str, namespace: str) -> bool:
    """Whether a run asks a database of this product in this namespace, or Longhorn, which has none.

    It may be named (`workloads`). Tasks of the user (`workload_gate`) may ask any.
    """
    named = {each.product for each in workloads_in(params["workloads"])}
    return bool(params["workload_gate"]) or (product, namespace) in named


def conditions_of_workloads(params: Mapping[str, Any]) -> list[str]:
    """The consents that were given for the databases of the option, for the digest of a plan."""
    return [each for one in workloads_in(params["workloads"]) for each in one.conditions()]


def workloads_in(given: Collection[Mapping[str, Any]]) -> list[Workload]:
    """The workloads of the option."""
    return [
        Workload(each["system"], each["namespace"], each["opensearch"] or {}, {name: each[name] for name in CONSENT})
        for each in given
    ]
