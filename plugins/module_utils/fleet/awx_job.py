"""A cluster is upgraded by a job of AWX, from a job template (API reference of AWX, /api/v2).

The sources of the rules are awx/api/serializers.py (`JobLaunchSerializer`, `JobListSerializer`) and awx/api/views: a
launch drops variables that neither the survey nor the template asks for, a list has no artifacts, and an output too
long for a page is only given as a download. The answer to a question of the type `password` is hidden in every answer
(`SurveyJobMixin.display_extra_vars` in awx/main/models/mixins.py), and a template with several slices launches a
workflow job, which the answer names as `workflow_job` (`JobTemplateLaunch.post`). A job can be deleted, also by the
schedule that cleans up, once it has ended (`UnifiedJobDeletionMixin` in awx/api/views/mixin.py). One that a user may
not read is answered with 403, and only one that does not exist with 404 (`GenericAPIView.get_queryset` in
awx/api/generics.py).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..common.errors import Refusal, refusal
from ..common.reading import Json
from .awx_server import AwxServer, NotThere
from .launching import JobState, LaunchedJob

CONSENT = "upgrade_confirm"
TAKES_ANY = "ask_variables_on_launch"
"""The field of a template that says whether a launch may give it any variable."""
_ENDS = {
    "successful": JobState.SUCCEEDED,
    "failed": JobState.FAILED,
    "error": JobState.FAILED,
    "canceled": JobState.CANCELLED,
}
"""The states of a job that has ended."""
UNDER_WAY = ("new", "pending", "waiting", "running")
"""Those of one that has not."""
_PAGE = 200
"""Jobs of a template that are looked at, the newest ones: the most that AWX gives at once."""


class AwxJobs:
    """The jobs of one job template."""

    title = "Job"

    def __init__(self, server: AwxServer, template: str) -> None:
        """`template` is the name or the id of the job template."""
        self._server, self._template = server, template
        self._known: Json = {}

    def examine(self) -> None:
        """See `Launcher`."""
        template = self._found()
        questions = self._questions(template)
        if not template.get(TAKES_ANY) and CONSENT not in questions:
            raise refusal(
                "awx_template_without_consent",
                f"The job template {template['name']} of the AWX {self._server.host} does not ask for {CONSENT}, which"
                " AWX would drop.",
                f"Add a question for {CONSENT} to its survey, or have it prompt for variables on launch.",
            )
        if questions.get(CONSENT) == "password":
            raise refusal(
                "awx_consent_hidden",
                f"The job template {template['name']} of the AWX {self._server.host} asks for {CONSENT} as for a"
                " password, which AWX hides, so no job could be found again.",
                f"Change the question for {CONSENT} in its survey to the type Text.",
            )
        with self._server.understood():
            slices = int(template.get("job_slice_count") or 1)
        if slices > 1:
            raise refusal(
                "awx_template_sliced",
                f"The job template {template['name']} of the AWX {self._server.host} has {slices} slices, each of which"
                " would be a run of its own.",
                "Set its job slicing to 1.",
            )

    def jobs(self, consents: Collection[str]) -> Sequence[LaunchedJob]:
        """See `Launcher`. A template may serve several clusters, so only the consent shows whose job it is."""
        newest = self._listed()
        # Of a template that serves hundreds of clusters, one that still runs may be older than all of these.
        older = self._listed(status__in=",".join(UNDER_WAY))
        found = {each.number: each for each in (*newest, *older)}
        return [each for each in found.values() if each.digest in consents]

    def _listed(self, **query: str) -> list[LaunchedJob]:
        path = f"/job_templates/{self._found()['id']}/jobs/"
        answer = self._server.get(path, order_by="-id", page_size=_PAGE, **query)
        with self._server.understood():
            return [_job(each) for each in answer["results"]]

    def launch(self, variables: Mapping[str, Any], digest: str, number: int) -> LaunchedJob:
        """See `Launcher`."""
        template = self._found()
        whole = {**variables, CONSENT: digest}
        asked = whole if template.get(TAKES_ANY) else self._questions(template)
        given = {name: value for name, value in whole.items() if name in asked}
        answer = self._server.post(f"/job_templates/{template['id']}/launch/", {"extra_vars": given})
        with self._server.understood():
            return LaunchedJob(str(int(answer["job"])), int(answer["job"]), digest, JobState.RUNNING, "pending")

    def look(self, job: LaunchedJob) -> LaunchedJob:
        """See `Launcher`."""
        try:
            answer = self._server.get(f"/jobs/{job.name}/")
        except NotThere:
            return replace(job, state=JobState.GONE, said="deleted")
        with self._server.understood():
            return _job(answer)

    def log(self, job: LaunchedJob) -> str:
        """See `Launcher`."""
        try:
            return self._server.text(f"/jobs/{job.name}/stdout/", format="txt_download")
        except NotThere:
            return ""

    def statistics(self, job: LaunchedJob) -> Mapping[str, Any]:
        """See `Launcher`. They are the artifacts of the job."""
        try:
            answer = self._server.get(f"/jobs/{job.name}/")
        except NotThere:
            return {}
        with self._server.understood():
            found: Mapping[str, Any] = {**answer["artifacts"]}
        return found

    def cancel(self, job: LaunchedJob) -> None:
        """See `Launcher`. AWX refuses it for a job that has ended since it was seen."""
        if not self._is_cancellable(job):
            return
        try:
            self._server.post(f"/jobs/{job.name}/cancel/", {})
        except Refusal:
            if self._is_cancellable(job):
                raise

    def _is_cancellable(self, job: LaunchedJob) -> bool:
        try:
            answer = self._server.get(f"/jobs/{job.name}/cancel/")
        except NotThere:
            return False
        with self._server.understood():
            return bool(answer["can_cancel"])

    def _found(self) -> Json:
        """The job template, which is read once."""
        if self._known:
            return self._known
        wanted = {"id": self._template} if self._template.isdecimal() else {"name": self._template}
        answer = self._server.get("/job_templates/", **wanted)
        with self._server.understood():
            found = [{**each, "id": int(each["id"]), "name": str(each["name"])} for each in answer["results"]]
        if len(found) != 1:
            several = f"has {len(found)} job templates" if found else "has no job template"
            raise refusal(
                "awx_template_missing",
                f"The AWX {self._server.host} {several} {self._template} that this user may see.",
                "Correct upgrade_fleet_template, give an id in it, or the right to read and execute the job template.",
            )
        (self._known,) = found
        return self._known

    def _questions(self, template: Json) -> dict[str, str]:
        """The kind of question of each variable in the survey of a template; empty without a survey."""
        if not template.get("survey_enabled"):
            return {}
        answer = self._server.get(f"/job_templates/{template['id']}/survey_spec/")
        with self._server.understood():
            # Once its survey is deleted, a template has {}, and `survey_enabled` stays (`display_survey_spec`).
            return {str(each["variable"]): str(each["type"]) for each in answer.get("spec", ())}


def _job(answer: Json) -> LaunchedJob:
    number, status = int(answer["id"]), str(answer["status"])
    explained = str(answer.get("job_explanation") or "")
    said = f"{status} ({explained.rstrip('.')})" if explained else status
    return LaunchedJob(str(number), number, _consent(answer), _ENDS.get(status, JobState.RUNNING), said)


def _consent(answer: Json) -> str:
    """The consent of a job; empty if it has none. The variables of one that was launched without any are those of its
    template as they are written there, perhaps in YAML (awx, `handle_extra_data`)."""
    try:
        given = json.loads(answer.get("extra_vars") or "{}")
    except ValueError:
        return ""
    return str(given.get(CONSENT) or "") if isinstance(given, dict) else ""
