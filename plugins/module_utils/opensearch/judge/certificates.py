"""Certificates that end soon: a run that verifies them would lose the cluster midway. Pure.

Only the certificates of the REST port are seen. Those of the transport port, with which members join, are shown by
the security plugin only to a super admin (`GET _plugins/_security/api/certificates`), so they are not asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...common.verdict import Reason, as_verdict, refused, remark
from ..observe.certificates import Certificate

DAY = 86400
SOON = 30 * DAY
"""A certificate that ends within this time is reported."""
IN_THE_RUN = DAY
"""One that ends within this time may end before a run of a large cluster does."""
_RENEW = "Renew it first, and look at the certificates of the transport port, too: members join with those."


@as_verdict
def judge_certificates(shown: Iterable[Certificate]) -> Iterator[Reason]:
    """Whether the certificates outlast the upgrade. One that has ended already cannot end during the run."""
    for each in shown:
        date = f"{each.ends:%Y-%m-%d %H:%M} UTC"
        whose = f"The TLS certificate that OpenSearch at {each.where} shows"
        if each.left <= 0:
            yield remark("certificate_ends", f"{whose} ended at {date}, and is not verified.", _RENEW)
        elif each.left < IN_THE_RUN:
            message = f"{whose} ends at {date}, so a run may lose the cluster before it is done."
            yield refused("certificate_ends", message, f"{_RENEW} To continue anyway, set skip_checks: [certificates].")
        elif each.left < SOON:
            days = round(each.left / DAY)
            yield remark("certificate_ends", f"{whose} ends in {days} day{'s' if days > 1 else ''}, at {date}.", _RENEW)
