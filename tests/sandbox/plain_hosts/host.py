"""A machine in memory that carries out the modules of Ansible which the roles for members call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.sandbox.plain_hosts.jobs import CHECKS, Job, Jobs, Result, UnknownModule, over
from tests.sandbox.plain_hosts.service import Job as ServiceJob
from tests.sandbox.plain_hosts.service import Service
from tests.sandbox.web import Answer, Request


class PlainHost:
    """A machine of Debian with one service. A module that was started goes on, whatever becomes of its controller."""

    def __init__(self, package: str, service: Service) -> None:
        self._package, self.service = package, service
        self.repository_away = False
        """Whether no package can be fetched."""
        self.has_power = True
        self._fetched = {service.installed}
        self._jobs = Jobs(
            {
                "ping": lambda _options: over({"ping": "pong"}),
                "setup": lambda _options: over({"ansible_facts": {"ansible_pkg_mgr": "apt"}}),
                "apt": lambda given: over(self._installed(given)),
                "command": lambda given: over(self._fetches(given)),
                "systemd": self._systemd,
            }
        )

    def __call__(self, request: Request) -> Answer:
        """A handler, see `Jobs`."""
        return self._jobs(request)

    def power_off(self) -> None:
        """The machine stops at once, and all modules with it."""
        self.has_power = False
        self._jobs.lose()
        self.service.power_off()

    def power_on(self) -> None:
        """The machine comes back, and starts what is enabled."""
        self.has_power = True
        self.service.start()

    def _fetches(self, options: Mapping[str, Any]) -> Result:
        """`apt-get --download-only`."""
        argv = options.get("argv") or []
        if argv[:1] != ["apt-get"] or "--download-only" not in argv:
            raise UnknownModule(f"command {argv}")
        error = self._fetched_or_error(self._version_in(argv[-1]))
        rc = 100 if error else 0
        failed = {"failed": True, "msg": "non-zero return code"} if error else {}
        return {"rc": rc, "stdout": "", "stderr": error, "changed": True, **failed}

    def _installed(self, options: Mapping[str, Any]) -> Result:
        version = self._version_in(str(options["name"]))
        changed = version != self.service.installed
        # In check mode apt asks its lists alone.
        if not changed or options.get(CHECKS):
            return {"changed": changed}
        error = self._fetched_or_error(version)
        if error:
            return {"failed": True, "changed": False, "msg": f"'apt-get install' failed: {error}"}
        self.service.installed = version
        return {"changed": True}

    def _version_in(self, wanted: str) -> str:
        name, _equal, version = wanted.partition("=")
        if name != self._package:
            raise UnknownModule(f"package {wanted}")
        return version

    def _fetched_or_error(self, version: str) -> str:
        if self.repository_away and version not in self._fetched:
            return "E: Failed to fetch the archive: Could not connect to the repository"
        self._fetched.add(version)
        return ""

    def _systemd(self, options: Mapping[str, Any]) -> Job:
        if options["name"] != self._package:
            raise UnknownModule(f"service {options['name']}")
        wanted = options["state"] == "started"
        changed = self.service.is_active != wanted
        job: ServiceJob = self.service.start() if wanted else self.service.stop()

        def result() -> Result | None:
            error = job()
            if error is None:
                return None
            return {"changed": changed, **({"failed": True, "msg": error} if error else {})}

        return result
