"""The licence of an Elasticsearch cluster: read, and changed by its API (Elasticsearch guide, Licensing APIs).

Results and journals have its type and nothing else of it.
"""

from __future__ import annotations

from contextlib import suppress

from ...common.errors import Refusal, Unreachable, refusal
from ...common.reading import flag, optional_text, part, text
from ...common.task import Task
from ...opensearch.observe.answers import not_understood, reading
from ...opensearch.observe.client import OpenSearchClient
from ..judge.licences import HeldLicence, Licence, WantedLicence

INSTALLED = "changed_licence"
"""The name of the act in the journal."""


def read_licence(search: OpenSearchClient) -> HeldLicence:
    """The licence that the cluster has.

    Raises:
        Refusal: the servers have none, or one of an unknown type.
    """
    answer = search.get("/_license")
    with reading("GET /_license"):
        found = part(answer, "license")
        kind, uid = text(found, "type"), optional_text(found, "uid") or ""
    if kind not in [each.value for each in Licence]:
        raise not_understood("GET /_license", f"the type of the licence is {kind}")
    status = search.get("/_license/trial_status")
    with reading("GET /_license/trial_status"):
        return HeldLicence(Licence(kind), uid, flag(status, "eligible_to_start_trial", default=True))


def bring_licence(task: Task, search: OpenSearchClient, wanted: WantedLicence) -> bool:
    """Give the cluster this licence. The result says whether there was anything to do.

    Raises:
        Refusal: the cluster does not take it.
    """
    held = task.ask(lambda: read_licence(search))
    if wanted.is_there(held):
        return False
    if task.check_mode:
        task.journal.did(INSTALLED, wanted.type.value, was=held.type.value)
        return True
    task.still_wanted()
    # If the answer is lost, the next look shows whether the licence is there. The client repeats a request whose answer
    # was lost, and a server refuses to start the licence that it has.
    said: Refusal | None = None
    try:
        with suppress(Unreachable), task.journal.doing((INSTALLED, wanted.type.value, {"was": held.type.value})):
            _install(search, wanted)
    except Refusal as error:
        said = error
    now = task.ask(lambda: read_licence(search))
    if not wanted.is_there(now):
        raise said or _not_taken(wanted, f"it still has the licence {now.type.value}")
    if said is not None:
        task.journal.did(INSTALLED, wanted.type.value, was=held.type.value, answer="lost")
    return True


def _install(search: OpenSearchClient, wanted: WantedLicence) -> None:
    if wanted.content:
        answer = search.put("/_license", {"licenses": [dict(wanted.content)]}, acknowledge="true")
        with reading("PUT /_license"):
            status = text(answer, "license_status")
        if status != "valid":
            raise _not_taken(wanted, f"it calls that licence {status}")
        return
    search.post(f"/_license/start_{wanted.type.value}", acknowledge="true")


def _not_taken(wanted: WantedLicence, why: str) -> Refusal:
    return refusal(
        "licence_not_taken",
        f"The cluster does not take the licence {wanted.type.value}: {why}.",
        "Correct licence (upgrade_licence), and run again.",
    )
