"""Volume attachments (`controller/volume_attachment_controller.go`): which ticket decides where a volume goes."""

from __future__ import annotations

from tests.sandbox.kubernetes.objects import Json, Kind
from tests.sandbox.longhorn.controllers.work import Shared, set_condition
from tests.sandbox.longhorn.kinds import ATTACHMENTS, VOLUMES

PRIORITIES = {
    "volume-restore-controller": 2000,
    "volume-expansion-controller": 2000,
    "longhorn-api": 1000,
    "csi-attacher": 900,
    "salvage-controller": 900,
    "share-manager-controller": 900,
}
"""`GetAttacherPriorityLevel` in `volumeattachment.go`; all others have 800."""


class Attachments:
    """The ticket with the highest priority sets `spec.nodeID`; a volume that is faulted is detached first."""

    def __init__(self, shared: Shared) -> None:
        self._shared, self._objects = shared, shared.objects
        self.queue = shared.queue(self._look)

    def seen(self, kind: Kind, item: Json, *, gone: bool) -> None:
        """Take note of a change."""
        if kind in {VOLUMES, ATTACHMENTS} and not gone:
            self.queue.add(item["metadata"]["name"])
        elif kind == VOLUMES:
            self._objects.delete(ATTACHMENTS, item["metadata"]["name"])

    def _look(self, name: str) -> None:
        attachment, volume = self._objects.get(ATTACHMENTS, name), self._objects.get(VOLUMES, name)
        if attachment is None or volume is None:
            return
        tickets: dict[str, Json] = attachment["spec"].get("attachmentTickets") or {}
        wanted = self._wanted(tickets, volume)
        if wanted != volume["spec"].get("nodeID", ""):
            self._objects.change(VOLUMES, name, lambda item: item["spec"].update(nodeID=wanted))
        self._tell(name, tickets, volume)

    def _wanted(self, tickets: dict[str, Json], volume: Json) -> str:
        status, present = volume.get("status", {}), volume["spec"].get("nodeID", "")
        if status.get("robustness") == "faulted" and (present or status.get("state") != "detached"):
            return ""
        held = [each for each in tickets.values() if each.get("nodeID") == present]
        if present and held:
            # A ticket that is satisfied is not thrown out by one of the same priority.
            best = max(_priority(each) for each in tickets.values())
            return present if max(map(_priority, held)) == best else ""
        if present or status.get("state") != "detached" or status.get("robustness") == "faulted":
            return ""
        chosen = max(tickets.values(), key=lambda each: (_priority(each), each["id"]), default=None)
        return str(chosen["nodeID"]) if chosen else ""

    def _tell(self, name: str, tickets: dict[str, Json], volume: Json) -> None:
        status, now = volume.get("status", {}), self._shared.now()

        def change(told: Json) -> None:
            before = told.get("attachmentTicketStatuses") or {}
            found = {}
            for key, ticket in tickets.items():
                there = status.get("currentNodeID") == ticket.get("nodeID") and status.get("state") == "attached"
                each = {**before.get(key, {}), "id": ticket["id"], "satisfied": there}
                each["generation"] = ticket.get("generation", 0)
                set_condition(each, "Satisfied", str(there), now)
                found[key] = each
            told["attachmentTicketStatuses"] = found

        self._objects.status(ATTACHMENTS, name, change)


def _priority(ticket: Json) -> int:
    return PRIORITIES.get(ticket.get("type", ""), 800)
