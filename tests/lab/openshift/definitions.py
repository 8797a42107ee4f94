"""The definitions of all kinds that the version operator follows."""

from __future__ import annotations

from dataclasses import replace

from tests.sandbox.openshift.definitions import OPENSHIFT

_MORE = (
    "0000_03_config-operator_01_proxies",
    "0000_10_config-operator_01_featuregates",
    "0000_10_config-operator_01_infrastructures-Default",
)
DEFINITIONS = replace(
    OPENSHIFT,
    files=(*OPENSHIFT.files, *(f"config/v1/zz_generated.crd-manifests/{each}.crd.yaml" for each in _MORE)),
)
