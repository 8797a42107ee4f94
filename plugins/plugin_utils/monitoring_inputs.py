"""The faults in the variables for alerts and silences: selectors, days, and addresses. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from ..module_utils.common.errors import Refusal
from ..module_utils.monitoring.addresses import dependencies_in
from ..module_utils.monitoring.alerts import ignored_in
from ..module_utils.monitoring.selectors import selectors_in
from ..module_utils.monitoring.soak import limits_in
from ..module_utils.run.health_figures import accepted_in
from .connection_inputs import listed, merged
from .variables import PREFIX, SELECTORS, names, table

IGNORED = f"{PREFIX}alerts_ignored"
DEPENDENCIES = f"{PREFIX}dependencies"
WORSE = f"{PREFIX}accept_worse"
LIMITS, PROBES, SOAK, SOAKING = (f"{PREFIX}soak_{name}" for name in ("limits", "probes", "time", "batches"))


def faults_of_monitoring(given: Mapping[str, Any]) -> Iterator[str]:
    """One sentence for each fault. Values of a wrong type have a sentence of their own already."""
    for name, variable in sorted(table().items()):
        if variable.needs and given.get(name) and not _address(variable.needs, given):
            yield f"{name} is given without a server to ask: give {variable.needs}_url."
    for name in sorted(names(lambda each: each.values == SELECTORS)):
        texts = given.get(name) or []
        if _all(texts, str):
            yield from _refused(partial(selectors_in, texts, name))
    for name in (DEPENDENCIES, PROBES):
        addresses = listed(given.get(name)) or []
        if _all(addresses, str):
            yield from (f"{name}: {sentence}" for sentence in _refused(partial(dependencies_in, addresses)))
    yield from _faults_of_soak(given)
    entries = given.get(IGNORED) or []
    if _all(entries, Mapping) and all(each.keys() >= {"alerts", "reason", "owner", "until"} for each in entries):
        yield from _refused(partial(ignored_in, entries, IGNORED))


def _address(connection: str, given: Mapping[str, Any]) -> Any:
    whole = merged(connection, given)
    return whole.get("url") if isinstance(whole, Mapping) else None


def asking_to_soak(given: Callable[[str], Any]) -> list[str]:
    """The variables with which a batch must prove itself: one gives seconds, the other says that every batch must."""
    return [name for name in (SOAK, SOAKING) if given(name) not in (None, "", "0", 0, "first")]


def _faults_of_soak(given: Mapping[str, Any]) -> Iterator[str]:
    limits = given.get(LIMITS) or []
    if _all(limits, Mapping) and all(each.keys() >= {"name", "query"} for each in limits):
        yield from _refused(partial(limits_in, limits, LIMITS))
    wanted = asking_to_soak(given.get)
    if wanted and given.get(f"{PREFIX}record_kept_in") == "none":
        yield f"{wanted[0]} needs a record, and {PREFIX}record_kept_in=none keeps none: keep a record."
    worse = given.get(WORSE) or []
    if _all(worse, Mapping) and all(each.keys() >= {"figure", "reason", "owner", "until"} for each in worse):
        yield from _refused(partial(accepted_in, worse, WORSE))
    for name in (each for each in (PROBES, LIMITS, WORSE) if given.get(each) and not wanted):
        yield f"{name} does nothing without {SOAK} or {SOAKING}=every: give one of them, or take it out."


def _all(values: Any, kind: type) -> bool:
    return isinstance(values, Sequence) and not isinstance(values, str) and all(isinstance(v, kind) for v in values)


def _refused(read: Callable[[], object]) -> list[str]:
    try:
        read()
    except Refusal as error:
        return [reason.sentence() for reason in error.verdict.reasons]
    return []
