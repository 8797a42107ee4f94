"""Answers of the agent on a machine whose operating system is an image, read for the role member_os_image."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..module_utils.common.reading import Unreadable, whole_part
from ..module_utils.common.words import printable, shortened
from ..module_utils.machines.judge.host_operations import HostDecision, HostStep, WantedHost, next_host_step
from ..module_utils.machines.observe.host_operations import HostPlan, HostState, HostStatus, host_plan, host_status
from ..module_utils.machines.observe.node_updates import FailureKind
from ..module_utils.run.start.approvals import digest_text
from .os_image_settings import AFTER, BEFORE, OsImage

Json = Mapping[str, Any]
RETRIES = {FailureKind.TRANSIENT: 3, FailureKind.UNREACHABLE: 5}
"""The default retries for each kind of failure."""
LONGEST = 600
API = "upgrade.stateful/v1alpha1"


@dataclass(frozen=True)
class Answers:
    """The results of the modules that asked the agent and the machine."""

    agent: Json
    kept: Json
    """With the stored plan."""
    boot: Json
    """With the id of the present boot of the machine."""


@dataclass(frozen=True)
class WantedStep:
    """A step on a machine, as the run wants it."""

    configuration: Json
    """The host configuration, without the name of its operation."""
    kubelet: str
    """The version of the kubelet, as the look has seen it."""
    until: int
    """When its time is over, in seconds since 1970."""
    interval: int
    """Seconds between two looks."""
    retries: Json
    """The retries by the class of a failure, if the user has given any."""


@dataclass(frozen=True)
class NextStep:
    """What follows from the answers."""

    step: HostStep
    cause: str
    plan: str
    """The plan to store before it; empty to keep what is there."""
    document: str
    """The host configuration to submit."""
    under_way: bool
    """Whether an operation is, as far as is known."""
    answered: bool = False
    """Whether the agent has given an answer."""
    operation: str = ""
    """The name of the operation that is under way by that answer, or begins; empty without one."""


def until_of(seconds: int) -> int:
    """The time that is so many seconds from now, in seconds since 1970."""
    return int(time.time()) + seconds


def seconds_left(until: int) -> int:
    """The seconds until a time, at least 1."""
    return max(until - int(time.time()), 1)


def tries_left(until: int, interval: int) -> int:
    """The number of looks until a time, so many seconds apart, at least 1."""
    return max(seconds_left(until) // max(interval, 1), 1)


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


def configuration_of(role: OsImage, step: str, *, controls: bool) -> dict[str, Any]:
    """The host configuration of a step, without the name of its operation.

    `controls` says whether the machine is one of the control plane.
    """
    activates = step == AFTER
    upgrade = " ".join(["kubeadm", "upgrade", *_course(role, step), *role.words("arguments")])
    script = [] if activates and controls else [upgrade]
    image = role.image()
    return {
        **role.fields("more"),
        "apiVersion": API,
        "kind": "HostConfiguration",
        "machine": role.node,
        "step": "AfterDrain" if activates else "BeforeDrain",
        "kubernetesVersion": f"v{role.version}",
        "image": {"url": image["url"], "sha256": _checksum(image)},
        "activate": activates,
        "script": [*script, *(["systemctl restart kubelet"] if activates else [])],
    }


def _course(role: OsImage, step: str) -> list[str]:
    if step == BEFORE and role.text("course") == "apply":
        return ["apply", "-y", f"v{role.version}"]
    return ["node"]


def decided(answers: Answers, wanted: WantedStep) -> NextStep:
    """The next step."""
    late = seconds_left(wanted.until) <= wanted.interval
    if any(each.get("unreachable") for each in (answers.agent, answers.kept, answers.boot)):
        cause = "the machine cannot be reached" if late else ""
        return _next(HostDecision(HostStep.FAILED if late else HostStep.FOLLOW, cause=cause), wanted, under_way=True)
    status, fault = _status(answers.agent)
    if status is None:
        return _next(HostDecision(HostStep.FAILED, cause=fault), wanted, under_way=True)
    configuration = wanted.configuration
    image = _checksum(configuration["image"]) if configuration["activate"] else ""
    differs = not image or status.image != image or wanted.kubelet != configuration["kubernetesVersion"][1:]
    kept = _kept(str(answers.kept.get("stdout") or ""))
    # Only the cluster shows the version of the control plane, and it has asked for this step.
    done = not image and kept is not None and kept.done
    # The subcommand of kubeadm changes once the first machine has written the version, but the work is the same.
    digest = digest_text({**configuration, "script": ""})
    differs = differs and not (done and kept is not None and kept.digest == digest)
    boot = str(answers.boot.get("stdout") or "").strip()
    host = WantedHost(digest, image, differs, _budgets(wanted.retries))
    decision = next_host_step(kept, status, host, boot, late=late)
    begins = decision.plan.operation if decision.step is HostStep.SUBMIT and decision.plan is not None else ""
    operation = _name_of(status) if _runs(status) else begins
    return replace(_next(decision, wanted, under_way=bool(operation)), answered=True, operation=operation)


def _runs(status: HostStatus) -> bool:
    return status.state is HostState.RUNNING


def _name_of(status: HostStatus) -> str:
    return shortened(printable(status.operation), LONGEST) or "without a name"


def _next(decision: HostDecision, wanted: WantedStep, *, under_way: bool) -> NextStep:
    plan = decision.plan
    document = {**wanted.configuration, "operation": plan.operation} if plan is not None else {}
    return NextStep(
        decision.step,
        decision.cause,
        plan=json.dumps(plan.as_json(), sort_keys=True) if plan is not None else "",
        document=json.dumps(document, sort_keys=True),
        under_way=under_way,
    )


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


def _budgets(retries: Json) -> dict[FailureKind, int]:
    return {each: int(retries.get(each.value.lower(), count)) for each, count in RETRIES.items()}


def _checksum(image: Json) -> str:
    return str(image["sha256"]).removeprefix("sha256:")
