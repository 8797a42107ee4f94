"""The status of a ClusterVersion, made of what the version operator knows (`updateClusterVersionStatus`)."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.sandbox.kubernetes.controllers.work import with_condition
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.openshift.controllers.operators import DEGRADED_FOR, SLOW, SLOW_MACHINE_CONFIG, Health
from tests.sandbox.openshift.description import MACHINE_CONFIG_OPERATOR

PARTIAL, COMPLETED = "Partial", "Completed"
MOST_HISTORY = 100
"""`MaxHistory` in `pkg/cvo/status.go`."""


@dataclass
class Progress:
    """The work of the version operator on one release."""

    version: str
    image: str
    completed: bool = True
    done: int = 0
    total: int = 1
    waits_for: str = ""
    """The operator whose turn it is, or that is not well."""
    health: Health = field(default_factory=Health)
    waited: float = 0.0
    """Seconds since the upgrade of that operator started."""
    accepted_risks: str = ""


@dataclass
class Acceptance:
    """The condition ReleaseAccepted."""

    status: str
    reason: str
    message: str


def tell_progress(item: Json, progress: Progress, fault: str, now: str) -> None:
    """Write Available, Failing and Progressing; `fault` is that of the spec."""
    version = progress.version
    if progress.completed:
        with_condition(item, "Available", "True", now, message=f"Done applying {version}")
    failing, reason, message, waiting = failing_of(progress)
    with_condition(item, "Failing", failing, now, reason=reason, message=message)
    if progress.completed:
        said = f"Error while reconciling {version}: {message}" if failing == "True" else f"Cluster version is {version}"
        if fault and failing != "True":
            reason, said = "InvalidClusterVersion", f"Stopped at {version}: the cluster version is invalid"
        with_condition(item, "Progressing", "False", now, reason=reason, message=said)
        return
    if failing == "True":
        with_condition(item, "Progressing", "True", now, reason=reason, message=f"Unable to apply {version}: {waiting}")
        return
    part = 100 * progress.done // progress.total
    said = f"Working towards {version}: {progress.done} of {progress.total} done ({part}% complete)"
    said = said if progress.done else f"Working towards {version}"
    said += f", {waiting}" if waiting else ""
    with_condition(item, "Progressing", "True", now, reason=progress.health.reason, message=said)


def failing_of(progress: Progress) -> tuple[str, str, str, str]:
    """Status, reason and message of Failing, and the words of Progressing (`convertErrorToProgressing`)."""
    health, name = progress.health, progress.waits_for
    if not health.reason:
        return "False", "", "", ""
    if health.reason == "ClusterOperatorNotAvailable":
        return "True", health.reason, health.message, f"the cluster operator {name} is not available"
    if health.reason == "ClusterOperatorDegraded":
        if progress.completed or progress.waited > DEGRADED_FOR:
            said = f"wait has exceeded 40 minutes for these operators: {name}"
            return "True", health.reason, health.message, said
        return "False", "", "", f"waiting up to 40 minutes on {name}"
    limit, said = SLOW, "over 30 minutes"
    if name == MACHINE_CONFIG_OPERATOR:
        limit, said = SLOW_MACHINE_CONFIG, "over 90 minutes"
    if progress.waited > limit:
        said = f"waiting on {name} {said} which is longer than expected"
        return "Unknown", "SlowClusterOperator", said, said
    return "False", "", "", f"waiting on {name}"


def tell_history(item: Json, progress: Progress, now: str) -> None:
    """Write the history, the latest first (`mergeOperatorHistory`)."""
    history: list[Json] = item["status"].setdefault("history", [])
    if not history or history[0]["image"] != progress.image:
        if history and history[0]["completionTime"] is None:
            history[0]["completionTime"] = now
        entry: Json = {"state": PARTIAL, "startedTime": now, "completionTime": None, "verified": True}
        history.insert(0, {**entry, "version": progress.version, "image": progress.image})
        if progress.accepted_risks:
            history[0]["acceptedRisks"] = progress.accepted_risks
    if progress.completed:
        history[0]["state"] = COMPLETED
        history[0]["completionTime"] = history[0]["completionTime"] or now
    del history[MOST_HISTORY:]


def tell_upgradeable(item: Json, risks: list[tuple[str, str]], now: str) -> None:
    """Write Upgradeable; without a risk there is no such condition (`setUpgradeableCondition`)."""
    if not risks:
        conditions = item["status"].get("conditions", [])
        item["status"]["conditions"] = [each for each in conditions if each["type"] != "Upgradeable"]
        return
    reason, message = risks[0]
    if len(risks) > 1:
        said = "\n* ".join(each for _name, each in risks)
        reason = "MultipleReasons"
        message = f"Cluster should not be upgraded between minor or major versions for multiple reasons:\n* {said}"
    with_condition(item, "Upgradeable", "False", now, reason=reason, message=message)


def tell_fault(item: Json, fault: str, now: str) -> None:
    """Write Invalid, or take it away."""
    if fault:
        message = f"The cluster version is invalid: {fault}"
        with_condition(item, "Invalid", "True", now, reason="InvalidClusterVersion", message=message)
        return
    conditions = item["status"].get("conditions", [])
    item["status"]["conditions"] = [each for each in conditions if each["type"] != "Invalid"]
