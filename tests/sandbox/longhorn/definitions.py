"""The real custom resource definitions of Longhorn, out of the Go module of its manager."""

from __future__ import annotations

import re

from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.module_definitions import ModuleDefinitions, documents_of


def parsed(text: str) -> list[Json]:
    """The definitions in the file of the module, which is a template of a chart: its one expression adds labels."""
    return documents_of(re.sub(r"\{\{-.*?\}\}", "", text))


LONGHORN = ModuleDefinitions(
    "Longhorn",
    "github.com/longhorn/longhorn-manager",
    "v1.12.0",
    "h1:XJNQSH1M7P5ot+YoTtpKHTYW3yXNeFLTWbR1My/vs3c=",
    ("k8s/crds.yaml",),
    parsed,
)
