"""Pod Security: the level that the labels of a namespace enforce (k8s.io/pod-security-admission, policy)."""

from __future__ import annotations

from collections.abc import Iterator

from tests.sandbox.kubernetes.objects import Json

_ENFORCE = "pod-security.kubernetes.io/enforce"
_FREE = "NET_BIND_SERVICE"
_BASELINE = frozenset(
    [
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    ]
)


def violated(labels: Json, spec: Json) -> str:
    """The rules that a pod breaks; empty if there are none."""
    level = labels.get(_ENFORCE, "privileged")
    if level == "privileged":
        return ""
    rules = [*_baseline(spec), *(_restricted(spec) if level == "restricted" else ())]
    found = [said for _rule, said in sorted(rules)]
    version = labels.get(f"{_ENFORCE}-version", "latest")
    return f'violates PodSecurity "{level}:{version}": {", ".join(found)}' if found else ""


def _containers(spec: Json) -> list[Json]:
    return [*spec.get("initContainers", []), *spec.get("containers", [])]


def _own(container: Json) -> Json:
    found: Json = container.get("securityContext") or {}
    return found


def _named(containers: list[str]) -> str:
    quoted = ", ".join(f'"{each}"' for each in containers)
    return f"container{'s' if len(containers) > 1 else ''} {quoted}"


def _baseline(spec: Json) -> Iterator[tuple[str, str]]:
    added = [
        each["name"] for each in _containers(spec) if {*_own(each).get("capabilities", {}).get("add", [])} - _BASELINE
    ]
    if added:
        must = "must not include other capabilities in securityContext.capabilities.add"
        yield "capabilities_baseline", f"non-default capabilities ({_named(added)} {must})"
    host = [f"{key}=true" for key in ("hostNetwork", "hostPID", "hostIPC") if spec.get(key)]
    if host:
        yield "hostNamespaces", f"host namespaces ({', '.join(host)})"
    volumes = [each["name"] for each in spec.get("volumes", []) if "hostPath" in each]
    if volumes:
        quoted = ", ".join(f'"{each}"' for each in volumes)
        yield "hostPathVolumes", f"hostPath volumes (volume{'s' if len(volumes) > 1 else ''} {quoted})"
    privileged = [each["name"] for each in _containers(spec) if _own(each).get("privileged")]
    if privileged:
        yield "privileged", f"privileged ({_named(privileged)} must not set securityContext.privileged=true)"


def _restricted(spec: Json) -> Iterator[tuple[str, str]]:
    every, of_pod = _containers(spec), spec.get("securityContext") or {}
    escalating = [each["name"] for each in every if _own(each).get("allowPrivilegeEscalation") is not False]
    if escalating:
        must = "must set securityContext.allowPrivilegeEscalation=false"
        yield "allowPrivilegeEscalation", f"allowPrivilegeEscalation != false ({_named(escalating)} {must})"
    kept = [each["name"] for each in every if "ALL" not in _own(each).get("capabilities", {}).get("drop", [])]
    if kept:
        yield (
            "capabilities_restricted",
            f'unrestricted capabilities ({_named(kept)} must set securityContext.capabilities.drop=["ALL"])',
        )
    as_root = [each["name"] for each in every if not _own(each).get("runAsNonRoot", of_pod.get("runAsNonRoot", False))]
    if as_root:
        yield (
            "runAsNonRoot",
            f"runAsNonRoot != true (pod or {_named(as_root)} must set securityContext.runAsNonRoot=true)",
        )
    profiled = {"RuntimeDefault", "Localhost"}
    bare = [
        each["name"]
        for each in every
        if _own(each).get("seccompProfile", of_pod.get("seccompProfile", {})).get("type") not in profiled
    ]
    if bare:
        must = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
        yield "seccompProfile_restricted", f"seccompProfile (pod or {_named(bare)} {must})"
