"""The kind FileIntegrity with the documented fields of the File Integrity Operator, and no others.

They are those of `pkg/apis/fileintegrity/v1alpha1/fileintegrity_types.go` of file-integrity-operator, and of its page
"Configuring the Custom File Integrity Operator". The Go proxy does not have its module, from which the definition of
the operator could be taken. The API server prunes a field that is not there, and refuses it with strict validation.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.sandbox.kubernetes.objects import Json

GROUP, VERSION = "fileintegrity.openshift.io", "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
RE_INIT = "file-integrity.openshift.io/re-init"
"""The annotation with which the baseline is made again. The operator takes it away."""
_TOLERATION = {
    "effect": {"type": "string"},
    "key": {"type": "string"},
    "operator": {"type": "string"},
    "tolerationSeconds": {"type": "integer", "format": "int64"},
    "value": {"type": "string"},
}
_CONFIG = {
    "gracePeriod": {"type": "integer", "default": 900},
    "initialDelay": {"type": "integer"},
    "key": {"type": "string"},
    "maxBackups": {"type": "integer", "default": 5},
    "name": {"type": "string"},
    "namespace": {"type": "string"},
}


def definition() -> Json:
    """The CustomResourceDefinition."""
    spec = {
        **_object(
            {
                "config": _object(_CONFIG),
                "debug": {"type": "boolean"},
                "nodeSelector": {"type": "object", "additionalProperties": {"type": "string"}},
                "tolerations": {"type": "array", "items": _object(_TOLERATION)},
            }
        ),
        "required": ["config"],
    }
    whole = _object({"spec": spec, "status": _object({"phase": {"type": "string"}})})
    version = {"name": VERSION, "served": True, "storage": True, "subresources": {"status": {}}}
    names = {"kind": "FileIntegrity", "listKind": "FileIntegrityList", "plural": "fileintegrities"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"fileintegrities.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {**names, "singular": "fileintegrity"},
            "versions": [{**version, "schema": {"openAPIV3Schema": whole}}],
        },
    }


def file_integrity(name: str, namespace: str, annotations: Mapping[str, str]) -> Json:
    """One for the workers, as its page shows it."""
    metadata = {"name": name, "namespace": namespace, "annotations": {**annotations}}
    spec: Json = {"nodeSelector": {"node-role.kubernetes.io/worker": ""}, "config": {"maxBackups": 3}}
    return {"apiVersion": API_VERSION, "kind": "FileIntegrity", "metadata": metadata, "spec": spec}


def _object(properties: Json) -> Json:
    return {"type": "object", "properties": properties}
