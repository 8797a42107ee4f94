"""UpgradeTasks as documents, for a cluster whose API has no definition of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.runs.machines import CHECK, NAMESPACE, PLAYBOOK, Machines, machines
from tests.runs.observer.looking import RECORD
from tests.runs.shipped import rights_of_machines
from tests.runs.upgrade_tasks import EVERY, FROM, OWNER, TO
from tests.runs.world import world
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS
from tests.scenarios.cluster import USER
from tests.scenarios.playbook import Played, digest_in


@contextmanager
def serving() -> Iterator[Machines]:
    """Three machines of the control plane, and two workers, without the definition of UpgradeTasks."""
    with world() as here, machines(here, FROM, [TO], control_plane=3, workers=2) as found:
        here.sandbox.apply(rights_of_machines(NAMESPACE))
        yield found


def document(names: tuple[str, ...] = EVERY, **spec: Any) -> str:
    """A task as JSON."""
    own = {"controlPlaneRef": OWNER, "newMachineSpec": {"version": f"v{TO}"}}
    whole = {**own, "machinesRequireUpgrade": [{"name": each} for each in names], **spec}
    whole = {field: value for field, value in whole.items() if value is not None}
    return json.dumps({"apiVersion": "upgrade.stateful/v1alpha1", "kind": "UpgradeTask", "spec": whole})


def write(place: Path, names: tuple[str, ...] = EVERY, **spec: Any) -> str:
    """Write a task into a file."""
    place.write_text(document(names, **spec), encoding="utf-8")
    return str(place)


def variables(found: Machines, source: str, **more: Any) -> dict[str, Any]:
    """The variables of a run; the version is in the request."""
    given = found.variables(TO, USER, upgrade_request=source, **more)
    del given["target_version"]
    return given


def agreed(found: Machines, source: str, **more: Any) -> dict[str, Any]:
    """The same with consent to the present plan."""
    planned = found.here.play(PLAYBOOK, variables(found, source, **more), *found.arguments, CHECK)
    assert planned.code == 0, planned.output
    return {**variables(found, source, **more), "upgrade_confirm": digest_in(planned)}


def play(found: Machines, given: dict[str, Any]) -> Played:
    """A run."""
    return found.here.play(PLAYBOOK, given, *found.arguments)


def record(found: Machines) -> dict[str, Any]:
    """The record as it is."""
    maps = found.here.sandbox.kubernetes.server.resources.store.each(CONFIG_MAPS, NAMESPACE)
    (kept,) = [json.loads(each["data"][RECORD]) for each in maps if RECORD in (each.get("data") or {})]
    return dict(kept)
