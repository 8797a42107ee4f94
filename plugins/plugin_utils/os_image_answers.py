"""Answers of the agent on a machine whose operating system is an image, read for the role member_os_image."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from ..module_utils.common.reading import Unreadable, whole_part
from ..module_utils.common.words import printable, shortened
from ..module_utils.machines.judge.host_operations import HostDecision, HostStep, WantedHost, next_host_step
from ..module_utils.machines.observe.host_operations import HostPlan, HostState, HostStatus, host_plan, host_status
from ..module_utils.machines.observe.node_updates import FailureKind
from ..module_utils.run.start.approvals import digest_text

Json = Mapping[str, Any]
RETRIES = {FailureKind.TRANSIENT: 3, FailureKind.UNREACHABLE: 5}
"""The default retries for each kind of failure."""
LONGEST = 600
API = "upgrade.stateful/v1alpha1"


def until_of(seconds: Any) -> int:
    """The time that is so many seconds from now, in seconds since 1970."""
    return int(time.time()) + int(seconds)


def seconds_left(until: Any) -> int:
    """The seconds until a time, at least 1."""
    return max(int(until) - int(time.time()), 1)


def tries_left(until: Any, interval: Any) -> int:
    """The number of looks until a time, so many seconds apart, at least 1."""
    return max(seconds_left(until) // max(int(interval), 1), 1)


def has_ended(result: Json) -> bool:
    """Whether the agent has answered, and has no operation under way."""
    status, _cause = _status(result)
    return status is not None and status.state is not HostState.RUNNING


def is_busy(result: Json) -> bool:
    """Whether the agent says that an operation is under way."""
    status, _cause = _status(result)
    return status is not None and _runs(status)


def fault_of(result: Json) -> str:
    """Why an answer of the agent cannot be used; empty if it can."""
    return _status(result)[1]


def configuration_of(wanted: Json, **given: Any) -> dict[str, Any]:
    """The host configuration of a step, without the name of its operation.

    Args:
        wanted: The fields that the user adds.
        given: `machine`, `step`, `course`, `version`, `image`, `control_plane` and `arguments`.
    """
    activates = given["step"] == "after_drain"
    upgrade = " ".join(["kubeadm", "upgrade", *_course(given), *map(str, given["arguments"])])
    script = [] if activates and given["control_plane"] else [upgrade]
    return {
        **wanted,
        "apiVersion": API,
        "kind": "HostConfiguration",
        "machine": given["machine"],
        "step": "AfterDrain" if activates else "BeforeDrain",
        "kubernetesVersion": f"v{given['version']}",
        "image": {"url": given["image"]["url"], "sha256": _checksum(given["image"])},
        "activate": activates,
        "script": [*script, *(["systemctl restart kubelet"] if activates else [])],
    }


def _course(given: Json) -> list[str]:
    if given["course"] == "apply" and given["step"] == "before_drain":
        return ["apply", "-y", f"v{given['version']}"]
    return ["node"]


def decided(answer: Json, **given: Any) -> dict[str, Any]:
    """The next step, from the results of the tasks that asked the agent and the machine.

    It has the `step`, the `cause`, the `plan` to store and the `document` to submit as text, and whether an operation
    is `under_way`. If the agent has `answered`, `operation` is the name of that one, and empty without one.

    Args:
        answer: The result with the answer of the agent.
        given: The results `kept` (the stored plan) and `boot`, and `configuration`, `kubelet`, `until`, `interval` and
            `retries`.
    """
    asked = (answer, given["kept"], given["boot"])
    late = seconds_left(given["until"]) <= int(given["interval"])
    if any(each.get("unreachable") for each in asked):
        cause = "the machine cannot be reached" if late else ""
        return _answer(HostDecision(HostStep.FAILED if late else HostStep.FOLLOW, cause=cause), given, under_way=True)
    status, fault = _status(answer)
    if status is None:
        return _answer(HostDecision(HostStep.FAILED, cause=fault), given, under_way=True)
    configuration = given["configuration"]
    image = _checksum(configuration["image"]) if configuration["activate"] else ""
    differs = not image or status.image != image or given["kubelet"] != configuration["kubernetesVersion"][1:]
    kept = _kept(str(given["kept"].get("stdout") or ""))
    # Only the cluster shows the version of the control plane, and it has asked for this step.
    done = not image and kept is not None and kept.done
    # The subcommand of kubeadm changes once the first machine has written the version, but the work is the same.
    digest = digest_text({**configuration, "script": ""})
    wanted = WantedHost(digest, image, differs and not (done and kept and kept.digest == digest), _budgets(given))
    boot = str(given["boot"].get("stdout") or "").strip()
    decision = next_host_step(kept, status, wanted, boot, late=late)
    begins = decision.plan.operation if decision.step is HostStep.SUBMIT and decision.plan is not None else ""
    operation = _name_of(status) if _runs(status) else begins
    return {**_answer(decision, given, under_way=bool(operation)), "answered": True, "operation": operation}


def _runs(status: HostStatus) -> bool:
    return status.state is HostState.RUNNING


def _name_of(status: HostStatus) -> str:
    return shortened(printable(status.operation), LONGEST) or "without a name"


def _answer(decision: HostDecision, given: Json, *, under_way: bool) -> dict[str, Any]:
    plan = decision.plan
    document = {**given["configuration"], "operation": plan.operation} if plan is not None else {}
    return {
        "step": decision.step.value,
        "cause": decision.cause,
        "plan": json.dumps(plan.as_json(), sort_keys=True) if plan is not None else "",
        "document": json.dumps(document, sort_keys=True),
        "under_way": under_way,
        "answered": False,
        "operation": "",
    }


def _status(result: Json) -> tuple[HostStatus | None, str]:
    """The status that the agent gives, or the cause if there is none."""
    said = str(result.get("content") or result.get("stdout") or "")
    # A task that has used up its tries has failed, but still has the last answer.
    if result.get("rc", 0 if "status" in result else 1) or result.get("status", 200) != 200:
        cause = printable(str(result.get("stderr") or result.get("msg") or said))
        return None, f"the agent does not answer: {shortened(cause.strip(), LONGEST)}"
    try:
        return host_status(whole_part(json.loads(said))), ""
    except (ValueError, Unreadable) as error:
        return None, f"the answer of the agent cannot be read: {shortened(printable(str(error)), LONGEST)}"


def _kept(text: str) -> HostPlan | None:
    """The stored plan. A half-written one counts as none: the agent starts no operation of the same name twice."""
    try:
        return host_plan(whole_part(json.loads(text)))
    except (ValueError, Unreadable):
        return None


def _budgets(given: Json) -> dict[FailureKind, int]:
    own = given["retries"] or {}
    return {each: int(own.get(each.value.lower(), count)) for each, count in RETRIES.items()}


def _checksum(image: Json) -> str:
    return str(image["sha256"]).removeprefix("sha256:")
