"""The batch of a host of the play Roll, read from its variables, and the options that tasks get from it."""

from __future__ import annotations

import time
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property
from typing import Any

from ..module_utils.common.timestamps import timestamp_text
from ..module_utils.run.batch import BatchSoFar
from ..module_utils.run.canary_soak import EVERY
from ..module_utils.run.failure import failure_of
from ..module_utils.run.order import GROUP, HopOfPlan, hop_with, lined_up, sizes
from ..module_utils.run.start.request import REQUESTED
from ..module_utils.run.steps import run_waits
from .hosts_of_batch import failures_on_hosts, hosts_of, said_once, troubles, with_ends
from .hosts_of_run import known_hosts, texts_in
from .registered import OF_BATCH, of_system, registered
from .run_options import FAILED_TASK, SYSTEM, GivenVariables, OfHost, localhost, of_batch, of_pool
from .settings_of_run import options_to_prepare
from .variables import drains

REPLACING = ("pod_ondelete_roll", "process_restart")
"""The modules that replace pods or processes of a batch, or follow them."""
OF_RECORD = (
    *("cluster_uuid", "target_version", "digest", "deployed_version", "deed", "approvals"),
    *("pools", "members", "left", "batches", "before"),
)
"""The fields of a plan that a record needs."""
MEMBER_TIMEOUT = 1800
"""Default seconds for a member to come back."""
LATE = "roll_late"
"""The fact with the report that the batch is late."""
SOAK_MARGIN = 1800
"""Seconds in addition to its soak time that a batch or a canary cluster has to prove itself."""


@dataclass(frozen=True)
class BatchOfRun:
    """The batch of this host."""

    so_far: BatchSoFar
    given: GivenVariables
    variables: Mapping[str, Any]

    def options(self, module: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The options that it gives to a task of the collection."""
        batch, state = self.so_far.batch, arguments.get("state")
        if module == "upgrade_record" and state == "batch":
            return self._of_record(arguments)
        if module in REPLACING and "batch" not in arguments:
            return {
                "pools": batch["pools"],
                "batch": batch["members"],
                "expected": self._expected(),
                "usual_seconds": (self.given("roll_begun") or {}).get("usual_seconds"),
                "green_seconds": self.so_far.green_seconds(),
                **({"wait": True} if self.empties() and "until" in arguments else {}),
                # A member that is fixed first comes back on the version of its pool.
                **({"target_version": None} if batch.get("cures") else self._of_hop()),
            }
        if module == "cluster_health_gate":
            return {"expected": self._expected(), **self._of_hop(), **self._of_gate(str(arguments.get("moment")))}
        if module == "upgrade_notice":
            return {"plan": self._plan}
        if module == "emptied_nodes":
            return {"batch": batch["members"], "kubernetes_nodes": self.empties(), "wait_timeout": self.so_far.timeout}
        if module == "canary_soak":
            return {"wait_timeout": self.soak_time() + SOAK_MARGIN}
        if module == "health_figures":
            return {"wait_timeout": SOAK_MARGIN}
        return self._of_act(module, state)

    def of_state(self) -> dict[str, Any]:
        """The options that it gives to a state of the module of its system."""
        seconds = int(self.given("upgrade_member_timeout") or MEMBER_TIMEOUT)
        batch = self.so_far.batch
        # A batch of a chain of upgrades may lead to an intermediate version, whatever the target of the run is.
        target = batch.get("target_version") or self._plan.get("target_version")
        failed = failures_on_hosts(self.variables, batch) if self.so_far.hosts is not None else {}
        return {
            "batch": batch["members"],
            "wait_timeout": seconds,
            "target_version": target,
            "failed_members": failed,
            "wait_limit": self.so_far.seconds_left(),
            **self._of_lateness(),
        }

    def _of_lateness(self) -> dict[str, Any]:
        """The seconds until the batch is late; once that was reported, the report."""
        report = self.given(LATE)
        return {"late": report} if report else {"late_in": self.so_far.late_in()}

    def _of_act(self, module: str, state: Any) -> dict[str, Any]:
        batch = self.so_far.batch
        if module == "shard_allocation" and state == "prepared":
            usual = (self.given("roll_begun") or {}).get("usual_seconds")
            repeats = bool(self.variables.get("ansible_check_mode")) and not self.is_first()
            return options_to_prepare(batch, usual, self.so_far.seconds_left, repeats=repeats)
        if module == "pool_image" and state == "present":
            return of_pool(of_system(self.given, "pool") or {})
        restarted = of_system(self.given, "roll_restarted") if module == "tell" else None
        if restarted is not None:
            away, plan = restarted["downtime_seconds"], self._plan
            predicted = f"the plan predicted {plan['predicted_seconds']} s for the batch ({plan['prediction']})"
            return {"lines": [f"The whole cluster was away for {away} s; {predicted}."]}
        if module == "node_engine_switch":
            # Consent covers this image, even if the default of Longhorn has changed since.
            return {"nodes": batch["members"], **{name: self._plan[name] for name in ("image", "in_one_object")}}
        return self._of_hop()

    def _of_hop(self) -> dict[str, Any]:
        """A batch of a chain of upgrades may lead to an intermediate version, whatever the target of the run is."""
        version = self.so_far.batch.get("target_version")
        return {"target_version": version} if version else {}

    @cached_property
    def _localhost(self) -> Mapping[str, Any]:
        return localhost(self.variables)

    @property
    def _plan(self) -> Mapping[str, Any]:
        """The plan of the whole run."""
        return self._localhost.get("begin_plan") or {}

    def pools(self) -> list[Mapping[str, Any]]:
        """Its pools, as the plan has them."""
        own = self.so_far.batch.get("pools", ())
        return [each for each in self._plan.get("pools", ()) if each["name"] in own]

    def _of_gate(self, moment: str) -> dict[str, Any]:
        members = self.so_far.batch["members"]
        if moment == "after_batch":
            return {"batch": members}
        if moment == "before_batch":
            limits = {"wait_limit": self.so_far.seconds_left(), "since": self.done_before()}
            # In check mode the batches before this one were not carried out.
            waits = self.so_far.waits and not self.variables.get("ansible_check_mode")
            # If all members go together, none must stay; the cluster only has to be whole.
            return {"batch": [] if self.so_far.batch.get("together") else members, "wait": waits, **limits}
        if moment == "before_stop":
            # The time to wait for answers; if the proof does not hold, the batch is started again before that.
            of_member = int(self.given("upgrade_member_timeout") or MEMBER_TIMEOUT)
            return {"batch": members, "gate": self.gate(), "wait_timeout": min(of_member, self.so_far.seconds_left())}
        if moment == "joined":
            proof = (of_system(self.given, "roll_proof") or {}).get("before") or {}
            return {"batch": self.started(), "former_processes": proof.get("processes")}
        return {}

    def started(self) -> Sequence[str]:
        """The members on whose hosts everything has succeeded; empty if no members are on hosts of the inventory."""
        return [] if self.so_far.hosts is None else self.so_far.hosts.started

    def next_version(self) -> dict[str, Any]:
        """The hosts of the play with the next version of a chain, and how many belong to each of its batches. Only
        after the last batch of this version there are any."""
        places, number = self.given("upgrade_places") or {}, self._hop.number + 1
        if not places or self._hop.batches[-1]["name"] != self.so_far.batch["name"]:
            return {"hosts": [], "sizes": []}
        hosts = lined_up(self._plan, places, self.so_far.deadline, number, known_hosts(self.variables))
        return {"hosts": hosts, "sizes": sizes(self._plan, places, number)}

    @property
    def _hop(self) -> HopOfPlan:
        """The batches that lead to the same version."""
        return hop_with(self._plan.get("batches", ()), self.so_far.batch)

    def trouble(self) -> str:
        """What has failed on hosts of members, each cause once, and the hosts that are out of reach."""
        return said_once(one for each in self._on_hosts() for one in troubles(self.variables, each))

    def _on_hosts(self) -> Sequence[Mapping[str, Any]]:
        """The batches on whose hosts steps were taken for this one; none if no members are on hosts."""
        if self.so_far.hosts is None:
            return []
        # All machines are prepared before the first batch of their version.
        first = self._hop.batches[0]["name"] == self.so_far.batch["name"] and drains(self.given(SYSTEM))
        return self._hop.batches if first else [self.so_far.batch]

    def failure(self) -> dict[str, Any]:
        """The failure of the task that a rescue handles. For a task of the user (`roll_of_user`), it says so."""
        failed = failure_of(self.given(FAILED_TASK) or {}, self.given("ansible_failed_result") or {}, [])
        codes = with_ends(self.variables, self._on_hosts(), failed.codes)
        found = {**failed.as_result(), "codes": codes, "batch": self.so_far.batch["name"]}
        if not self.given("roll_of_user"):
            return found
        so = "no further batch is" if self.own_time() in ("after_batch", "emptied") else "the batch was not"
        said = f"A task of {self._own_variable()} has failed, so {so} begun: {failed.message}"
        return {**found, "message": said, "codes": ["own_tasks_failed"]}

    def _expected(self) -> Any:
        """The members that are to be there. Those that earlier batches have removed are no longer expected."""
        return self.so_far.batch.get("expected") or self._plan.get("members")

    def _of_record(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        of_batch = {"batch": self.so_far.batch["name"], "plan": self._of_lost_record()}
        if arguments.get("batch_state") == "upgrading":
            own = {"deadline": self.so_far.deadline, "pause_at": self._plan.get("pause_at"), "wait": self.so_far.waits}
            return {**of_batch, **own, "requested": requested(self._localhost.get("begin_request"))}
        if "batch_state" not in arguments and self.so_far.held_up():
            so_far = self.so_far.record()
            return {**of_batch, "batch_state": "waiting", "results": so_far["results"], "acts": so_far["acts"]}
        of_failure = self._of_failure() if arguments.get("batch_state") == "failed" else {}
        return {**of_batch, "batch_state": "done", **self.so_far.record(), **of_failure}

    def _of_lost_record(self) -> dict[str, Any] | None:
        """The plan, if the last note found no record. It is long, so it is given only then."""
        last = self.given("roll_begun") or self._recorded_before()
        return known_plan(self.variables) if last.get("record") == {} else None

    def _recorded_before(self) -> Mapping[str, Any]:
        """The result of the note at the end of the batch before this one; empty without one."""
        hosts = self.variables["groups"].get(GROUP, [])
        batches = [each for each in hosts if "upgrade_batch" in OfHost(self.variables, each)]
        before = batches[: batches.index(self._host)][-1:] if self._host in batches else []
        return next((of_batch(self.variables, host).get("roll_recorded") or {} for host in before), {})

    def _of_failure(self) -> dict[str, Any]:
        failure = self._localhost.get("roll_failure", {})
        return {"summary": failure.get("message"), "codes": failure.get("codes")}

    def done_before(self) -> str:
        """The time at which the batch before this one was done; empty for the first one of the run, or if the user's
        own tasks came in between."""
        if self.own_files():
            return ""
        return str(self._recorded_before().get("at") or "")

    @property
    def _host(self) -> str:
        return str(self.variables["inventory_hostname"])

    def is_first(self) -> bool:
        """Whether it is the first one of the run."""
        return self._host == next(iter(self.variables["groups"].get(GROUP, ())), self._host)

    @property
    def _is_back(self) -> bool:
        """Whether the current task runs after the batch is back."""
        return bool(self.given("roll_is_back"))

    def own_time(self) -> str:
        """The time of the user's own tasks that are due, as `upgrade_moment` names it."""
        if self.given("roll_is_empty"):
            return "emptied"
        return "after_batch" if self._is_back else "before" if self.is_first() else "between"

    def empties(self) -> list[str]:
        """The Kubernetes nodes that are emptied with the batch."""
        return list(self.so_far.batch.get("empties") or ())

    def own_files(self) -> list[str]:
        """The files of the user's own tasks that come before this batch, or after it."""
        return [] if self.variables.get("ansible_check_mode") else texts_in(self.given(self._own_variable()))

    def soak_time(self) -> int:
        """Seconds for which a batch must prove itself."""
        return int(self._of_soak("time") or 0)

    def _of_soak(self, name: str) -> Any:
        """A variable of the soak. At first, only localhost has those of the request."""
        return self.given(f"upgrade_soak_{name}") or self._localhost.get(f"upgrade_soak_{name}")

    def _soaks(self) -> bool:
        """Whether a batch before this one may have to prove itself."""
        return self.soak_time() > 0 or self._of_soak("batches") == EVERY

    def first_parts(self) -> list[str]:
        """The task files of the role roll before the batch goes down."""
        checks = bool(self.variables.get("ansible_check_mode"))
        soaks = self._soaks() and not checks
        # A batch without silences of its own ends those of the batch before it.
        silenced = any(each.get("silences") for each in self._plan.get("batches", ())) and not checks
        due = {"own_tasks.yml": self.own_files(), "soak.yml": soaks, "silences.yml": silenced}
        return [part for part, is_due in due.items() if is_due]

    def again_parts(self) -> list[str]:
        """The task files of the role roll for the rest of a batch: one for each interruption in the plan."""
        return ["again.yml"] * int(self._plan.get("interruptions") or 0)

    def _own_variable(self) -> str:
        return f"upgrade_tasks_{self.own_time()}"

    def gate(self) -> dict[str, Any]:
        """The options of the gate of an OpenSearch batch, which is repeated for the rest of the batch.

        Members that someone else has upgraded are skipped, but not those that are replaced for a changed template.
        On plain hosts no batch is divided.
        """
        batch, before = self.so_far.batch, of_system(self.given, "roll_before") or {}
        return {
            "wait_timeout": int(self.given("upgrade_gate_timeout") or 1800),
            "wait_limit": self.so_far.seconds_left(),
            "skip_upgraded": not (batch.get("outdated") or batch.get("restarts") or batch.get("empties")),
            "drained": batch.get("drained", []),
            "waited": sum(each["seconds"] for each in before.get("waited", ())),
            "target_version": batch.get("target_version") or self.given("target_version"),
            **({} if self.so_far.hosts or batch.get("empties") else {"split_after": 60}),
        }


def batch_of_run(
    variables: Mapping[str, Any], given: GivenVariables, clock: Callable[[], float] = time.time
) -> BatchOfRun | None:
    """The batch of the host with these variables; None if there is none. `given` fills in templates."""
    batch = given("upgrade_batch")
    if not isinstance(batch, Mapping):
        return None
    so_far = BatchSoFar(
        batch,
        registered(variables, OF_BATCH),
        int(clock()),
        deadline=int(given("upgrade_deadline") or 0) if int(given("upgrade_run_timeout") or 0) else 0,
        timeout=int(given("upgrade_batch_timeout") or 7200),
        waits=run_waits(given("upgrade_wait")),
        hosts=hosts_of(variables, given, batch),
    )
    return BatchOfRun(so_far, given, variables)


def parts_of_host(variables: Mapping[str, Any], given: GivenVariables) -> list[str]:
    """The task files of the role roll for a host of its play. The host of a member has no batch of its own."""
    batch = batch_of_run(variables, given)
    requested = (localhost(variables).get("begin_request") or {}).get("variables")
    on_hosts = "hosts_drained.yml" if drains(given(SYSTEM)) else "hosts.yml"
    own = [on_hosts] if batch is None or given("upgrade_places") else _parts(batch)
    return [*(["requested.yml"] if requested else []), *own]


def _parts(batch: BatchOfRun) -> list[str]:
    down = "emptied.yml" if batch.empties() else "down.yml"
    back = "back_late.yml" if batch.so_far.batch.get("late_after") else "back.yml"
    return [*batch.first_parts(), down, *batch.again_parts(), back]


def requested(request: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The request of a run, in the form by which its tasks recognize it; None without one."""
    return {name: request[name] for name in REQUESTED["options"] if name in request} if request else None


def batches_of(variables: Mapping[str, Any]) -> Iterator[BatchOfRun]:
    """The batches of the play, the last one first, seen from any host."""
    hosts = variables.get("groups", {}).get(GROUP, [])
    # The variables of another host have none of these.
    shared = {"hostvars": variables.get("hostvars", {}), "ansible_play_hosts": hosts, SYSTEM: variables.get(SYSTEM)}
    for host in reversed(hosts):
        of_host: Any = OfHost(variables, host)
        there = ChainMap(shared, of_host)
        batch = batch_of_run(there, there.get)
        if batch is not None:
            yield batch


def known_plan(variables: Mapping[str, Any]) -> dict[str, Any] | None:
    """The plan of the run for its record, with the batches that are done; None if the run has written no record."""
    plan = localhost(variables).get("begin_plan") or {}
    if not plan.get("recorded"):
        return None
    done = []
    for batch in batches_of(variables):
        begun, recorded = batch.given("roll_begun") or {}, batch.given("roll_recorded") or {}
        if recorded.get("at") and not batch.so_far.held_up():
            times = {"started": _moment(begun.get("at")), "ended": _moment(recorded["at"])}
            done.append({"name": batch.so_far.batch["name"], **times})
    return {**{name: plan[name] for name in OF_RECORD if name in plan}, **plan["recorded"], "done": done[::-1]}


def _moment(seconds: Any) -> str:
    return timestamp_text(datetime.fromtimestamp(int(seconds), timezone.utc)) if seconds else ""


ANSWERS: Mapping[str, Callable[[BatchOfRun], Any]] = {
    "held_up": lambda batch: batch.so_far.held_up(),
    "upgraded": lambda batch: batch.so_far.upgraded(),
    "rest": lambda batch: batch.so_far.rest(),
    "earlier": lambda batch: batch.so_far.earlier(),
    "late": lambda batch: batch.so_far.late() or [],
    "members": lambda batch: batch.so_far.members(),
    "pools": lambda batch: batch.pools(),
    "empties": lambda batch: batch.empties(),
    "gate": lambda batch: batch.gate(),
    "own_moment": lambda batch: batch.own_time(),
    "own_files": lambda batch: batch.own_files(),
    "first_parts": lambda batch: batch.first_parts(),
    "last_parts": lambda batch: ["next_version.yml"] if batch.next_version()["hosts"] else [],
    "next_version": lambda batch: batch.next_version(),
    "failure": lambda batch: batch.failure(),
    "started": lambda batch: batch.started(),
    "trouble": lambda batch: batch.trouble(),
}
"""The answers about a batch by question."""
