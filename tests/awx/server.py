"""A stand-in of AWX that answers its documented API (/api/v2): job templates, launches, jobs, their output, and cancel.

It follows awx/api/serializers.py and awx/api/views: variables that are not asked for are dropped and named in
`ignored_fields`, a list of jobs has no artifacts, and a job at its end cannot be cancelled (405). What a job does is up
to the test, which ends it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.sandbox.web import Answer, CutOff, Request

TOKEN = "token-of-awx"
Json = dict[str, Any]
_PATH = re.compile(r"/api/v2/(?P<kind>job_templates|jobs)/(?:(?P<id>\d+)/(?:(?P<part>\w+)/)?)?")
ENDED = ("successful", "failed", "error", "canceled")


@dataclass
class Template:
    """A job template."""

    id: int
    name: str
    survey: Sequence[str] | None = None
    """The variables of its survey; None without one."""
    prompts: bool = False
    """Whether it asks for variables on launch."""
    hidden: Sequence[str] = ()
    """The variables of its survey whose questions are of the type `password`."""
    slices: int = 1

    def shown(self) -> Json:
        """The template as AWX shows it."""
        asks: Json = {"ask_variables_on_launch": self.prompts, "survey_enabled": self.survey is not None}
        asks |= {"job_slice_count": self.slices}
        return {"id": self.id, "type": "job_template", "name": self.name, **asks}


@dataclass
class Job:
    """A job."""

    id: int
    template: int
    extra_vars: Json
    status: str = "pending"
    artifacts: Json = field(default_factory=dict)
    output: str = ""
    job_explanation: str = ""
    hidden: Sequence[str] = ()
    """The variables that no answer shows."""
    written: str = ""
    """The variables of its template as they are written there, if it was launched without any."""

    def shown(self, *, whole: bool) -> Json:
        """The job as AWX shows it; lists leave the artifacts out."""
        own = {"id": self.id, "type": "job", "status": self.status, "job_explanation": self.job_explanation}
        given = {**self.extra_vars, **{each: "$encrypted$" for each in self.hidden if each in self.extra_vars}}
        own |= {"job_template": self.template, "extra_vars": self.written or json.dumps(given)}
        return {**own, "artifacts": self.artifacts} if whole else own

    def end(self, status: str = "successful", output: str = "", **artifacts: Any) -> None:
        """Let it end."""
        self.status, self.artifacts = status, artifacts
        self.output = self.output or output


@dataclass
class Awx:
    """The stand-in. It is a handler of requests."""

    templates: list[Template] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    launched: Callable[[Job], None] = lambda job: None
    """Called with each new job."""
    before_cancel: Callable[[Job], None] | None = None
    """Called with each job that is about to be cancelled."""
    lose_launches: int = 0
    """So many launches from now on are made and not answered."""
    away: bool = False
    elsewhere: str = ""
    """The text with which another server answers 404 in its place."""
    asked: list[tuple[str, str]] = field(default_factory=list)

    def __call__(self, request: Request) -> Answer:
        """The answer to a request."""
        self.asked.append((request.method, request.path))
        if self.away:
            return Answer(503, "")
        if self.elsewhere:
            return Answer(404, self.elsewhere, {"Content-Type": "text/plain"})
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return Answer(401, {"detail": "Authentication credentials were not provided."})
        found = _PATH.fullmatch(request.path)
        if found is None:
            return Answer(404, {"detail": "Not found."})
        number, part = int(found["id"] or 0), found["part"] or ""
        if found["kind"] == "job_templates":
            return self._of_templates(request, number, part)
        job = next((each for each in self.jobs if each.id == number), None)
        return Answer(404, {"detail": "Not found."}) if job is None else self._of_job(request, job, part)

    def _of_templates(self, request: Request, number: int, part: str) -> Answer:
        if not number:
            fits = [each for each in self.templates if _fits(each, request.query)]
            return _page([each.shown() for each in fits])
        template = next((each for each in self.templates if each.id == number), None)
        if template is None:
            return Answer(404, {"detail": "Not found."})
        if part == "survey_spec":
            types = {each: "password" if each in template.hidden else "text" for each in template.survey or ()}
            spec = [{"variable": name, "type": kind} for name, kind in types.items()]
            return Answer(200, {"name": "", "spec": spec} if spec else {})
        if part == "launch" and request.method == "POST":
            return self._launch(template, dict(request.body.get("extra_vars") or {}))
        own = [each for each in self.jobs if each.template == number]
        assert (part, request.query.get("order_by")) == ("jobs", "-id")
        wanted = str(request.query.get("status__in") or "")
        own = [each for each in own if not wanted or each.status in wanted.split(",")]
        return _page([each.shown(whole=False) for each in reversed(own)][: int(request.query["page_size"])])

    def _launch(self, template: Template, given: Mapping[str, Any]) -> Answer:
        taken = {name: value for name, value in given.items() if template.prompts or name in (template.survey or ())}
        job = Job(len(self.jobs) + 11, template.id, taken, hidden=template.hidden)
        self.jobs.append(job)
        self.launched(job)
        if self.lose_launches:
            self.lose_launches -= 1
            raise CutOff(made=True)
        dropped = {name: value for name, value in given.items() if name not in taken}
        ignored = {"extra_vars": dropped} if dropped else {}
        return Answer(201, {"job": job.id, "ignored_fields": ignored, **job.shown(whole=True)})

    def _of_job(self, request: Request, job: Job, part: str) -> Answer:
        if part == "stdout":
            assert request.query.get("format") == "txt_download"
            return Answer(200, job.output, {"Content-Type": "text/plain"})
        if part == "cancel":
            if request.method == "GET":
                return Answer(200, {"can_cancel": job.status not in ENDED})
            if self.before_cancel is not None:
                self.before_cancel(job)
            if job.status in ENDED:
                return Answer(405, {"detail": 'Method "POST" not allowed.'})
            job.end("canceled")
            return Answer(202, None)
        return Answer(200, job.shown(whole=True))


def _fits(template: Template, query: Mapping[str, str]) -> bool:
    shown = {"id": str(template.id), "name": template.name}
    return all(shown.get(name) == value for name, value in query.items())


def _page(results: Sequence[Json]) -> Answer:
    return Answer(200, {"count": len(results), "next": None, "previous": None, "results": [*results]})
