"""Available and conditional updates, as the version operator finds them (`pkg/cvo/availableupdates.go`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.sandbox.kubernetes.objects import Json, copied, timestamp
from tests.sandbox.openshift.controllers.shared import Shared
from tests.sandbox.openshift.kinds import VERSION, VERSIONS
from tests.sandbox.openshift.update_service import Found, UpdateService, found_in, sorted_by_version
from tests.sandbox.web import CutOff, Request

_AGENT = "ClusterVersionOperator/sandbox"


class Updates:
    """It asks the update service: when channel, upstream or version have changed, and from time to time."""

    def __init__(self, shared: Shared, service: UpdateService, changed: Callable[[], None]) -> None:
        self._shared, self._service, self._changed = shared, service, changed
        self.version = ""
        """The version whose updates are asked for: that of the operator."""
        self._asked_for: tuple[str, str, str] | None = None
        """Version, channel and upstream of the last question, whatever was answered."""
        self._told_for: tuple[str, str] | None = None
        """Channel and upstream of what is kept here: nothing is written to a ClusterVersion with others."""
        self._found = Found()
        self._condition: Json = {}
        self._evaluated_at = 0.0
        self._answers_fail = 0

    def begin(self) -> None:
        """Ask for the first time; this answer does not fail."""
        self._asked_for = self._question()
        self._answered()
        self._ask_again()

    def sync(self) -> None:
        """Ask if the question is another one now."""
        question = self._question()
        if question == self._asked_for:
            return
        if self._asked_for is not None and question[1:] != self._asked_for[1:]:
            self._answers_fail = int(self._shared.habits.first_answer_fails)
        self._asked_for = question
        self._shared.clock.later(self._shared.pace.graph, self._answered)

    def _ask_again(self) -> None:
        def again() -> None:
            self._answered()
            self._ask_again()

        self._shared.clock.later(self._shared.habits.resync, again)

    def _question(self) -> tuple[str, str, str]:
        spec = self._item()["spec"]
        return self.version, spec.get("channel", ""), spec.get("upstream", "")

    def _item(self) -> Json:
        found = self._shared.kept(VERSIONS, VERSION)
        assert found is not None
        return found

    def _answered(self) -> None:
        version, channel, upstream = self._asked_for or self._question()
        found = self._fetched(version, channel)
        same = self._told_for == (channel, upstream)
        self._told_for = (channel, upstream)
        self._condition = {"status": "False" if found.reason else "True"}
        if found.reason:
            said = (
                found.message
                if found.reason == "NoChannel"
                else f"Unable to retrieve available updates: {found.message}"
            )
            self._condition |= {"reason": found.reason, "message": said}
        if not (found.failed and same):
            if found.conditional != self._found.conditional:
                self._evaluated_at = self._shared.clock.now() + self._shared.habits.evaluation
                self._shared.clock.later(self._shared.habits.evaluation, self._changed)
            self._found = found
        self._changed()

    def _fetched(self, version: str, channel: str) -> Found:
        if not channel:
            return Found(reason="NoChannel", message="The update channel has not been configured.")
        if self._answers_fail:
            self._answers_fail -= 1
            return Found(reason="ResponseFailed", message="unexpected HTTP status: 503 Service Unavailable")
        query = {"arch": "amd64", "channel": channel, "id": self._item()["spec"]["clusterID"], "version": version}
        headers = {"Accept": "application/json", "User-Agent": _AGENT}
        try:
            answer = self._service(Request("GET", "/graph", query, None, headers))
        except CutOff:
            return Found(reason="RemoteFailed", message="dial tcp: connect: connection refused")
        return found_in(answer, version, channel)

    def tell(self, item: Json) -> tuple[str, str, str] | None:
        """Write what is known into a ClusterVersion, but not what belongs to another channel (`NeedsUpdate`).

        Gives the condition RetrievedUpdates as status, reason and message; None: it stays as it is.
        """
        spec = item["spec"]
        if self._told_for != (spec.get("channel", ""), spec.get("upstream", "")):
            return None
        known = {each["release"]["image"]: each for each in item["status"].get("conditionalUpdates") or []}
        conditional = [self._evaluated(each, known) for each in self._found.conditional]
        safe = [each["release"] for each in conditional if each["conditions"][0]["status"] == "True"]
        updates = sorted_by_version([*self._found.updates, *safe])
        item["status"]["availableUpdates"] = copied(updates) or None
        item["status"].pop("conditionalUpdates", None)
        if conditional:
            order = [each["version"] for each in sorted_by_version([each["release"] for each in conditional])]
            conditional.sort(key=lambda each: order.index(each["release"]["version"]))
            item["status"]["conditionalUpdates"] = copied(conditional)
        found = self._condition
        return found["status"], found.get("reason", ""), found.get("message", "")

    def release(self, image: str) -> Json | None:
        """A release of the channel by its image (`mergeReleaseMetadata`)."""
        return next((copied(each) for each in self._found.releases if each["image"] == image), None)

    def _evaluated(self, update: Json, known: Mapping[str, Json]) -> Json:
        status, reason, message = self._judged(update)
        before = known.get(update["release"]["image"], {}).get("conditions", [{}])[0]
        now = timestamp(self._shared.clock.now())
        since = before["lastTransitionTime"] if before.get("status") == status else now
        said = {"type": "Recommended", "status": status, "reason": reason, "message": message}
        return {**update, "conditions": [{**said, "lastTransitionTime": since}]}

    def _judged(self, update: Json) -> tuple[str, str, str]:
        """As `evaluateConditionalUpdate`."""
        applies = {
            risk.name: risk.applies
            for edge in self._service.graph.conditional
            if edge.origin == self.version and edge.target == update["release"]["version"]
            for risk in edge.risks
        }
        if self._shared.clock.now() < self._evaluated_at:
            applies = dict.fromkeys(applies)
        risks = update["risks"]
        exposed = [each for each in risks if applies.get(each["name"])]
        unknown = [each for each in risks if applies.get(each["name"]) is None]
        said = [f"{each['message']} {each['url']}" for each in exposed]
        said += [f"Could not evaluate exposure to update risk {each['name']}" for each in unknown]
        if exposed:
            reason = exposed[0]["name"] if len(exposed) == 1 and not unknown else "MultipleReasons"
            return "False", reason, "\n\n".join(said)
        if unknown:
            return "Unknown", "EvaluationFailed", "\n\n".join(said)
        message = "The update is recommended, because none of the conditional update risks apply to this cluster."
        return "True", "NotExposedToRisks", message
