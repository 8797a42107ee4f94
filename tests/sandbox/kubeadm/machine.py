"""A machine of kubeadm in memory: it carries out the modules of Ansible which the role member_kubeadm calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from tests.sandbox.kubeadm.agent import Agent
from tests.sandbox.kubeadm.commands import Commands
from tests.sandbox.kubeadm.description import PACKAGES
from tests.sandbox.kubeadm.files import checksum, files_of
from tests.sandbox.kubeadm.kubelet import Kubelet
from tests.sandbox.kubeadm.packages import Packages, named, waits
from tests.sandbox.kubeadm.process import Ended, Process, Steps, after
from tests.sandbox.kubeadm.upgrading import OnMachine, Shared
from tests.sandbox.plain_hosts.jobs import CHECKS, Job, Jobs, Result, UnknownModule, over
from tests.sandbox.web import Answer, Request

Options = Mapping[str, Any]


class Machine:
    """A handler. A module that was started goes on, whatever becomes of its controller."""

    def __init__(self, shared: Shared, name: str, version: str, available: Sequence[str]) -> None:
        self._shared, self.name = shared, name
        self.packages = Packages(version, available)
        self.kubelet = Kubelet(shared, name, self.packages)
        self.written = OnMachine(name, version, shared.clock.now())
        """The files that kubeadm has written on it, and the components that do not come up."""
        self.programs: dict[str, str] = {}
        """The versions of programs that were fetched as single files, by path."""
        self.lines: dict[str, str] = {}
        """By path the line of a file that was written."""
        self.commands = Commands(shared, self.written, self.packages)
        self.agent = Agent(shared, self.written)
        self.has_power = True
        self.is_lost = False
        """Whether it is gone for ever, and no other one has taken its name."""
        self.processes: list[Process] = []
        """The commands that were started since the machine was last cut off, in their order."""
        self.modules: dict[str, Callable[[Options], Job]] = {
            "ping": lambda _given: over({"ping": "pong"}),
            "setup": lambda _given: over({"ansible_facts": {"ansible_pkg_mgr": self.packages.manager}}),
            "command": self._command,
            "apt": self._package,
            "dnf": self._package,
            "get_url": lambda given: over(self._got(given)),
            "copy": lambda given: over(self._copied(given)),
            "dpkg_selections": lambda given: over(self._held(given)),
            "systemd": self._systemd,
            "stat": lambda given: over(self._stat(given)),
            "find": lambda given: over(self._found(given)),
            "lineinfile": lambda given: over(self._line(given)),
            "file": lambda given: over(self._folder(given)),
        }
        """The modules of Ansible by name."""
        self._jobs = Jobs(self.modules)

    def __call__(self, request: Request) -> Answer:
        """A handler, see `Jobs`. Nothing listens there without power."""
        if not self.has_power:
            raise ConnectionRefusedError
        return self._jobs(request)

    def cut_off(self) -> None:
        """Every command is killed, and all connections end. Nothing else stops, and the kubelet ends what it does."""
        for each in self.processes:
            each.kill()
        self.processes.clear()
        self._jobs.lose()

    def power_off(self) -> None:
        """The machine stops at once, and all modules with it."""
        self.has_power = False
        self.cut_off()
        self.kubelet.power_off()

    def power_on(self) -> None:
        """The machine comes back, and starts its static pods. One that is lost stays away."""
        if self.is_lost:
            return
        self.has_power = True
        self.kubelet.power_on()

    def lose(self) -> None:
        """The machine is gone for ever, with all that was on it."""
        self.is_lost = True
        self.power_off()
        self.agent = Agent(self._shared, self.written)

    def make_again(self, version: str) -> None:
        """Another machine takes its name and its address. It has the packages of a version, and registers itself."""
        self.packages.installed.update(dict.fromkeys(self.packages.installed, version))
        self.kubelet.version, self.kubelet.system = version, f"{self.kubelet.system}-again"
        self.written.kubelet_configuration = version
        self.is_lost = False
        self.power_on()

    def _command(self, options: Options) -> Job:
        argv = [str(each) for each in options.get("argv") or str(options.get("_raw_params", "")).split()]
        if options.get(CHECKS):
            return over({"skipped": True, "msg": "Command would have run if not in check mode"})
        process = self._begun(self.commands.steps(argv, str(options.get("stdin") or ""), self))

        def job() -> Result | None:
            ended = process.ended
            if ended is None:
                return None
            failed = (
                {"failed": True, "msg": ended.stderr if ended.rc < 0 else "non-zero return code"} if ended.rc else {}
            )
            streams: Result = {"stdout": ended.stdout.rstrip("\n"), "stderr": ended.stderr.rstrip("\n")}
            streams["stdout_lines"] = streams["stdout"].splitlines()
            return {"changed": True, "rc": ended.rc, "cmd": argv, **streams, **failed}

        return job

    def _begun(self, steps: Steps) -> Process:
        process = Process(self._shared.clock, steps)
        self.processes.append(process)
        return process

    def _package(self, options: Options) -> Job:
        if options.get("update_cache") and not options.get("name"):
            return over({})
        wanted = options.get("name") or []
        names = [wanted] if isinstance(wanted, str) else wanted
        pairs = [named(each) for each in names]
        if any(name not in PACKAGES for name, _version in pairs):
            raise UnknownModule(f"packages {names}")
        changes = any(self.packages.installed[name] != version for name, version in pairs)
        if options.get(CHECKS):
            missing = [f"{name}={version}" for name, version in pairs if version not in self.packages.available]
            failed = {"failed": True, "msg": f"no available installation candidate for {missing[0]}"} if missing else {}
            return over({"changed": changes, **failed})
        locked = self.packages.locked_until - self._shared.clock.now()
        seconds, held = waits(locked, float(options.get("lock_timeout") or 60))
        pace = self._shared.pace.package if changes else self._shared.pace.look
        process = self._begun(after(seconds + pace, Ended()))
        result: Result = {}

        def job() -> Result | None:
            if process.ended is not None and not result:
                done = {"failed": True, "msg": f"'apt-get install' failed: {held}", "stderr": held}
                result.update(done if held else self._installed(pairs, held_too=_held_too(options)))
            return result or None

        return job

    def _installed(self, pairs: list[tuple[str, str]], *, held_too: bool) -> Result:
        changed = False
        for name, version in pairs:
            done, fault = self.packages.install(name, version, held_too=held_too)
            changed = changed or done
            if fault:
                return {
                    "failed": True,
                    "changed": changed,
                    "msg": f"'apt-get install' failed: {fault}",
                    "stderr": fault,
                }
        return {"changed": changed}

    def _held(self, options: Options) -> Result:
        name = str(options["name"])
        if options["selection"] != "hold":
            raise UnknownModule(f"dpkg_selections {dict(options)}")
        changed = name not in self.packages.held
        if not options.get(CHECKS):
            self.packages.held.add(name)
        return {"changed": changed}

    def _systemd(self, options: Options) -> Job:
        if options["name"] != "kubelet" or options.get("state") not in {None, "started", "restarted"}:
            raise UnknownModule(f"systemd {dict(options)}")
        status = {"status": {"MainPID": str(self.kubelet.pid), "ActiveState": "active"}}
        if options.get("state") == "restarted":
            if not options.get(CHECKS):
                self.kubelet.restart(self.written.kubelet_configuration)
            return over({"changed": True, **status})
        return over(status)

    def _stat(self, options: Options) -> Result:
        path = str(options["path"])
        if path == f"/proc/{self.kubelet.pid}/exe":
            old = " (deleted)" if self.kubelet.is_old and not self.kubelet.is_linked else ""
            return {"stat": {"exists": True, "islnk": True, "lnk_target": f"/usr/bin/kubelet{old}"}}
        there = path in {*self._files(), *self.commands.snapshots, *self.commands.programs}
        size = {"size": self.commands.snapshots[path]["totalSize"]} if path in self.commands.snapshots else {}
        return {"stat": {"exists": there, **size}}

    def _found(self, options: Options) -> Result:
        folders = [str(each).rstrip("/") for each in options["paths"]]
        if options.get("patterns") == ["kubeadm*.deb", "kubeadm*.rpm"]:
            files = [{"path": f"{folders[0]}/kubeadm.deb"}] if self.commands.has_file else []
            return {"files": files, "matched": len(files), "examined": len(files)}
        patterns = options.get("patterns") or []
        if any(str(each).startswith("stateful-upgrade-") for each in patterns):
            # They are in the order in which they came.
            there = [path.rpartition("/") for path in self.commands.snapshots]
            kept = [f"{at}/{name}" for at, _sign, name in there if at in folders and _fits(name, patterns)]
            dated = [{"path": path, "mtime": float(number)} for number, path in enumerate(kept)]
            return {"files": dated[::-1], "matched": len(dated), "examined": len(dated)}
        found = [
            {"path": path, "checksum": checksum(content)}
            for path, content in sorted(self._files().items())
            if path.rpartition("/")[0] in folders
        ]
        return {"files": found, "matched": len(found), "examined": len(found)}

    def _files(self) -> dict[str, str]:
        return files_of(self.written, self._shared.control_plane.images.get(self.name, {}))

    def _got(self, options: Options) -> Result:
        name, path = str(options["url"]).rpartition("/")[2], str(options["dest"])
        version = str(options["url"]).split("/")[-2].removeprefix("v")
        fault = self.packages.fetch(name, version)
        if fault:
            return {"failed": True, "msg": f"Request failed: {fault}"}
        changed = self.programs.get(path) != version
        self.programs[path] = version
        return {"changed": changed, "dest": path}

    def took_out(self, archive: str, names: Sequence[str]) -> str:
        """Place programs next to the archive that holds them; gives the fault."""
        folder = next(path.rpartition("/")[0] for path in self.programs if path.endswith(f"/{archive}"))
        missing = [name for name in names if name in self.packages.not_in_archives]
        self.programs |= {f"{folder}/{name}": self.programs[f"{folder}/{archive}"] for name in names}
        return f"tar: {missing[0]}: Not found in archive" if missing else ""

    def _copied(self, options: Options) -> Result:
        if not options.get("remote_src") or options["src"] not in self.programs:
            raise UnknownModule(f"copy {dict(options)}")
        name, version = str(options["dest"]).rpartition("/")[2], self.programs[str(options["src"])]
        changed = self.packages.installed[name] != version
        self.packages.installed[name] = version
        return {"changed": changed, "dest": options["dest"]}

    def _folder(self, options: Options) -> Result:
        path = str(options["path"])
        kept = [each for each in (self.commands.snapshots, self.lines) if path in each]
        for each in kept if options["state"] == "absent" and not options.get(CHECKS) else ():
            del each[path]
        return {"changed": options["state"] == "absent" and bool(kept)}

    def _line(self, options: Options) -> Result:
        path, line = str(options["path"]), str(options["line"])
        changed = self.lines.get(path) != line
        if not options.get(CHECKS):
            self.lines[path] = line
        return {"changed": changed, "msg": "line replaced" if changed else ""}


def _fits(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, each) for each in patterns)


def _held_too(options: Options) -> bool:
    """Whether packages that are held, or excluded, are changed too."""
    return bool(options.get("allow_change_held_packages") or options.get("disable_excludes"))
