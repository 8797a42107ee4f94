"""The APIs in use that the target has no more. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...common.release import Release
from ...common.verdict import Reason, as_verdict, remark
from ..observe.minors import kubernetes_minor
from ..observe.state import RemovedApi

MOST_USERS = 3
"""The users of an API that a sentence names."""


@as_verdict
def judge_removed(apis: Iterable[RemovedApi], present: Release, target: Release) -> Iterator[Reason]:
    """A remark for each API that is in use and that the target has no more.

    OpenShift itself asks for an acknowledgement where that is grave, so nothing is refused here.
    """
    before, after = ((1, kubernetes_minor(each)) for each in (present, target))
    for api in sorted(apis, key=lambda each: (-each.requests, each.name)):
        if before < api.removed_in <= after:
            named = [f"{each.name} ({each.program or 'unknown'}, {each.requests:,})" for each in api.users[:MOST_USERS]]
            most = f". Most by {'; '.join(named)}" if named else ""
            version = ".".join(map(str, api.removed_in))
            yield remark(
                "api_removed",
                f"The API {api.name} is in use (requests in 24 hours: {api.requests:,}), and OpenShift {target}"
                f" no longer has it (Kubernetes {version}){most}.",
                f"Have them use a later version of the API. See oc get apirequestcounts {api.name} -o yaml.",
            )
