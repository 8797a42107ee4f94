"""The version operator: it takes an update or does not, and upgrades one operator after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tests.sandbox.kubernetes.controllers.work import with_condition
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS
from tests.sandbox.kubernetes.objects import Json, condition_of, timestamp
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.openshift.controllers import acceptance, version_status
from tests.sandbox.openshift.controllers.operators import Health, Operators, health_of
from tests.sandbox.openshift.controllers.shared import Shared
from tests.sandbox.openshift.controllers.updates import Updates
from tests.sandbox.openshift.controllers.version_status import Acceptance, Progress
from tests.sandbox.openshift.kinds import ACKS, ACKS_NAMESPACE, GATES, GATES_NAMESPACE, OPERATORS, VERSION, VERSIONS
from tests.sandbox.openshift.registry import image_of
from tests.sandbox.openshift.update_service import UpdateService

BACKUP = "RecentBackup"
OWN_MANIFESTS = 2
"""A release's manifests before those of the operators, as far as they matter here: its own, and acknowledgements."""
TICK = 5.0
"""Seconds between two looks at the operator whose turn it is."""
Target = tuple[str, str, bool]
"""Version, image and force."""


class VersionOperator:
    """It looks after the ClusterVersion. `has` gives the version of an image that can be pulled."""

    def __init__(
        self,
        shared: Shared,
        service: UpdateService,
        operators: Operators,
        order: Sequence[str],
        has: Callable[[str], str | None],
        gates_of: Callable[[str], Mapping[str, str]],
    ) -> None:
        self._shared, self._operators, self._order, self._has = shared, operators, order, has
        self._gates_of = gates_of
        self._hand = shared.hand("cluster-version-operator")
        self.updates = Updates(shared, service, self._write_soon)
        self._progress = Progress("", "")
        self._accepted = self._before = Acceptance("True", "PayloadLoaded", "")
        """The judgement of the release that is wanted, and the last one that was settled."""
        self._loading: Target | None = None
        self._queue: list[str] = []
        self._began: dict[str, float] = {}
        self._said: tuple[object, ...] = ()
        """The progress that was written last."""
        self._generation = self._seen = 1
        """The generation that the status shows, and the one that was looked at last."""
        self._away_until = 0.0
        self._writes_soon = False
        self.unsigned: set[str] = set()
        """Versions whose releases no one has signed."""
        shared.resources.store.listeners.append(self._changed)

    def begin(self, version: str) -> None:
        """Look after a cluster that was installed in a version."""
        self.updates.version = version
        self._progress = Progress(version, image_of(version))
        self._accepted = _loaded(version, image_of(version))
        self.updates.begin()
        self._write()
        self._resync()

    def away_for(self, seconds: float) -> None:
        """Do nothing for so long, and write nothing."""
        self._away_until = max(self._away_until, self._shared.clock.now() + seconds)

    def _changed(self, change: Change) -> None:
        metadata = change.item["metadata"]
        if change.kind == VERSIONS and change.before is not None:
            if metadata["generation"] != change.before["metadata"]["generation"]:
                pace, habits = self._shared.pace, self._shared.habits
                self._shared.clock.later(habits.resync if habits.stale_spec else pace.control, self._sync)
        elif self._progress.version and (
            change.kind == OPERATORS or (change.kind == CONFIG_MAPS and metadata["name"] in {GATES, ACKS})
        ):
            self._write_soon()

    def _write_soon(self) -> None:
        if not self._writes_soon:
            self._writes_soon = True
            self._shared.clock.later(self._shared.habits.status_interval, self._write_now)

    def _write_now(self) -> None:
        self._writes_soon = False
        self._write()

    def _resync(self) -> None:
        def again() -> None:
            self._generation = self._seen
            self._sync()
            self._resync()

        self._shared.clock.later(self._shared.habits.resync, again)

    def _item(self) -> Json:
        found = self._shared.kept(VERSIONS, VERSION)
        assert found is not None
        return found

    def _is_away(self) -> bool:
        return self._shared.clock.now() < self._away_until

    def _sync(self) -> None:
        """Look at the spec (`sync` in `pkg/cvo/cvo.go`)."""
        if self._is_away():
            return
        item = self._item()
        self._seen = item["metadata"]["generation"]
        self.updates.sync()
        target = acceptance.wanted(item)
        if target is None or target[1] == self._progress.image:
            self._loading, self._generation = None, self._seen
            loaded = _loaded(self._progress.version, self._progress.image)
            found = self._before if self._accepted.status == "Unknown" else self._accepted
            self._accepted = found if self._shared.habits.keeps_refusal else loaded
        elif target != self._loading or self._accepted.status == "False":
            self._load(target)
        self._write()

    def _load(self, target: Target) -> None:
        version, image, _force = target
        self._loading = target
        self._before = self._before if self._accepted.status == "Unknown" else self._accepted
        said = f'Retrieving and verifying payload version="{version}" image="{image}"'
        self._accepted = Acceptance("Unknown", "RetrievePayload", said)
        self._shared.clock.later(self._shared.pace.retrieve, lambda: self._loaded(target))

    def _loaded(self, target: Target) -> None:
        """Take a release or refuse it (`syncPayload` in `pkg/cvo/sync_worker.go`).

        A refusal is reported at once, its generation only with the next pass over the release that runs:
        `observedGeneration` is that of the sync worker (`apply` there).
        """
        if self._loading != target:
            return
        if self._is_away():
            self._loading = None
            return
        version, image, force = target
        named = f'version="{version}" image="{image}"'
        found = self._has(image)
        why = acceptance.preconditions(self._item(), found) or self._backup(found) if found else ""
        if found is None:
            said = f"Retrieving payload failed {named} failure=Unable to download and prepare the update"
            self._accepted = Acceptance("False", "RetrievePayload", said)
        elif found in self.unsigned and not force:
            said = f"unable to verify {image.rpartition('@')[2]} against keyrings: verifier-public-key-redhat"
            said = f"Retrieving payload failed {named} failure=The update cannot be verified: {said}"
            self._accepted = Acceptance("False", "RetrievePayload", said)
        elif version and version != found:
            said = f"release image version {found} does not match the expected upstream version {version}"
            self._accepted = Acceptance(
                "False", "VerifyPayloadVersion", f"Verifying payload failed {named} failure={said}"
            )
        elif why and not force:
            said = f"Preconditions failed for payload loaded {named}: {why}"
            self._accepted = Acceptance("False", "PreconditionChecks", said)
        else:
            self._take(found, image, f"Forced through blocking failures: {why}" if why else "")
        self._write()

    def _backup(self, version: str) -> str:
        """The reason against a minor update that etcd was not backed up; the etcd operator reads it, and does so."""
        habits, etcd = self._shared.habits, self._shared.kept(OPERATORS, "etcd")
        if not habits.backup or etcd is None or not acceptance.is_minor(self._progress.version, version):
            return ""
        done = condition_of(etcd, BACKUP)
        if done.get("status") == "True":
            return ""
        if not done:
            told = ("Unknown", "UpgradeBackupInProgress", 'Backup pod phase: "Running"')
            self._operators.tell("etcd", RecentBackup=told)
            success = ("True", "UpgradeBackupSuccessful", f"UpgradeBackup for {self._progress.version} is there")
            self._shared.clock.later(habits.backup, lambda: self._operators.tell("etcd", RecentBackup=success))
        reason, message = done.get("reason", "EtcdRecentBackupNotSet"), done.get("message", "condition is not set.")
        return f'Precondition "EtcdRecentBackup" failed because of "{reason}": {BACKUP}: {message}'

    def _take(self, version: str, image: str, forced: str) -> None:
        """Start to apply a release; the version operator itself is the first to be replaced."""
        self._loading, self._generation = None, self._seen
        self._accepted = _loaded(version, image)
        risks = [forced, *self._not_recommended(version)]
        self._queue, self._began = [*self._order], {}
        total = OWN_MANIFESTS + len(self._queue)
        said = "\n".join(filter(None, risks))
        done = OWN_MANIFESTS
        self._progress = Progress(version, image, completed=False, done=done, total=total, accepted_risks=said)
        self._shared.clock.later(self._shared.pace.control, self._replaced)

    def _not_recommended(self, version: str) -> list[str]:
        found = self._item()["status"].get("conditionalUpdates") or []
        said = [(each["release"]["version"], each["conditions"][0]) for each in found]
        current = self._progress.version
        return [
            f"Update from {current} to {version} is not recommended:\n\n{condition['message']}"
            for other, condition in said
            if other == version and condition["status"] != "True"
        ]

    def _replaced(self) -> None:
        elected = self._shared.habits.elected
        self._away_until = self._shared.clock.now() + elected
        version = self._progress.version

        def runs() -> None:
            self.updates.version = version
            # The operator of the new release counts anew, so that its progress goes back.
            self._progress.done = 0
            self._write()
            self._bring_gates(version)
            self._sync()
            self._apply(version)

        self._shared.clock.later(elected, runs)

    def _bring_gates(self, version: str) -> None:
        """Apply the manifest with the acknowledgements of a release, which is among its first. Others stay."""
        gates = self._gates_of(version)
        if gates.items() - self._map(GATES_NAMESPACE, GATES).items():
            self._hand.change(CONFIG_MAPS, GATES_NAMESPACE, GATES, lambda item: item["data"].update(gates))

    def _apply(self, version: str) -> None:
        """Wait for the operator whose turn it is, then for the next one, until all are of the version."""
        progress = self._progress
        if progress.version != version or progress.completed:
            return
        if self._is_away():
            self._shared.clock.later(TICK, lambda: self._apply(version))
            return
        now = self._shared.clock.now()
        while self._queue:
            name = self._queue[0]
            if name not in self._began:
                self._began[name] = now
                self._operators.upgrade(name, version)
            operator = self._shared.kept(OPERATORS, name)
            progress.health = health_of(operator, version) if operator else Health("ClusterOperatorUpdating", name)
            progress.waits_for, progress.waited = name, now - self._began[name]
            if progress.health.reason:
                break
            self._queue.pop(0)
        progress.done = progress.total - len(self._queue)
        before, self._said = self._said, (progress.done, *version_status.failing_of(progress))
        if self._queue:
            self._shared.clock.later(max(TICK, self._shared.habits.status_interval), lambda: self._apply(version))
        else:
            progress.completed, progress.waits_for = True, ""
        if progress.completed or self._said != before:
            self._write()

    def _reconciled(self) -> None:
        """Find an operator that is not well although nothing is being upgraded."""
        progress = self._progress
        if not progress.completed:
            return
        progress.health, progress.waits_for = Health(), ""
        for operator in self._shared.each(OPERATORS):
            health = health_of(operator, progress.version)
            if health.reason and not progress.health.reason:
                progress.health, progress.waits_for = health, operator["metadata"]["name"]

    def _write(self) -> None:
        if not self._is_away():
            self._reconciled()
            self._hand.tell(VERSIONS, "", VERSION, self._status)

    def _status(self, item: Json) -> None:
        now, progress = timestamp(self._shared.clock.now()), self._progress
        status = item.setdefault("status", {})
        status |= {"observedGeneration": self._generation, "versionHash": "sandbox"}
        status.setdefault("availableUpdates", None)
        retrieved = self.updates.tell(item)
        desired = self.updates.release(progress.image)
        status["desired"] = desired or {"version": progress.version, "image": progress.image}
        version_status.tell_history(item, progress, now)
        fault = acceptance.invalid(item)
        version_status.tell_fault(item, fault, now)
        accepted = self._accepted
        with_condition(item, "ReleaseAccepted", accepted.status, now, reason=accepted.reason, message=accepted.message)
        version_status.tell_progress(item, progress, fault, now)
        if retrieved is not None:
            with_condition(item, "RetrievedUpdates", retrieved[0], now, reason=retrieved[1], message=retrieved[2])
        gates, acks = self._map(GATES_NAMESPACE, GATES), self._map(ACKS_NAMESPACE, ACKS)
        risks = acceptance.upgradeable_risks(item, self._shared.each(OPERATORS), gates, acks)
        version_status.tell_upgradeable(item, risks, now)

    def _map(self, namespace: str, name: str) -> dict[str, str]:
        found = self._shared.kept(CONFIG_MAPS, name, namespace)
        return dict((found or {}).get("data") or {})


def _loaded(version: str, image: str) -> Acceptance:
    return Acceptance("True", "PayloadLoaded", f'Payload loaded version="{version}" image="{image}"')
