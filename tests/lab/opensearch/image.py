"""The image ``opensearch:<version>``: how a container of it becomes one Java process on this machine.

It understands what the official image does: settings as environment variables with dots in their names, a mounted
``/usr/share/opensearch/config/opensearch.yml`` and folders next to it, ``DISABLE_SECURITY_PLUGIN``, and data at the
mount of ``/usr/share/opensearch/data``.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.lab.errors import LabError
from tests.lab.images import ContainerContext, Image, ImageNotFound, Launch
from tests.lab.opensearch.configuration import (
    LOGGING,
    OPENSEARCH,
    as_options,
    is_entry,
    made,
    member_settings,
    render,
    take_mounted,
    write,
)
from tests.lab.opensearch.homes import home_path
from tests.lab.opensearch.java import java_path, java_version
from tests.lab.opensearch.locks import major, read_lock

DEFAULT_HEAP = "-Xms256m -Xmx256m"
"""The heap unless OPENSEARCH_JAVA_OPTS is given."""
ARCHIVE, NO_ARCHIVE = "LAB_CLASS_ARCHIVE", "none"
"""The variable of a container that starts without the lab's class archive, as a server elsewhere does."""
_ENTRY = "/usr/share/opensearch/opensearch-docker-entrypoint.sh"
# Many short-lived members share few cores: a small collector and a quick compiler boot faster than the defaults.
_JVM_OPTIONS = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-Dlog4j2.disable.jmx=true",
    "-Dlog4j.shutdownHookEnabled=false",
    "-Dio.netty.noUnsafe=true",
    "-Dio.netty.noKeySetOptimization=true",
    "-Dio.netty.recycler.maxCapacityPerThread=0",
)


@dataclass(frozen=True)
class OpenSearchImage:
    """One version, assembled at ``home``."""

    version: str
    home: Path

    @property
    def folders(self) -> Mapping[str, Path]:
        """Its home. A member reports the home of its own version, which in a container has the same name in all."""
        homes = [each for each in self.home.parent.iterdir() if (each / "plugins").is_dir()]
        return {OPENSEARCH.installation: self.home, **{str(each): self.home for each in homes}}

    def takes(self, command: Sequence[str]) -> bool:
        """Whether it handles the command itself: only its entry point."""
        return is_entry(command)

    def launch(self, context: ContainerContext) -> Launch:
        """Gives the Java process itself, no shell between, so that signals reach it; writes its configuration first.

        Raises:
            LabError: the mounted opensearch.yml is not a mapping.
        """
        settings = member_settings(OPENSEARCH, context)
        configuration = self._configuration(context, render(settings))
        return Launch((*self._java(context, configuration), *context.args), context.env, context.scratch)

    def prepare(self, context: ContainerContext) -> Mapping[str, Path]:
        """Makes the folder of the configuration, and an entry point that starts the server with what is in there.

        A process manager starts it again and again in one container. The settings of the lab are options, since another
        file may be put into the place of opensearch.yml before each start.
        """
        options = as_options(member_settings(OPENSEARCH, context, with_file=False))
        configuration = self._configuration(context, "")
        entry = context.scratch / "entry"
        words = " ".join(shlex.quote(word) for word in (*self._java(context, configuration), *options))
        write(entry, f'#!/bin/sh\nexec {words} "$@"\n', context.scratch)
        entry.chmod(0o755)
        return {_ENTRY: entry, f"{OPENSEARCH.installation}/config": configuration}

    def _configuration(self, context: ContainerContext, settings: str) -> Path:
        configuration = made(context.scratch / "config", context.scratch)
        take_mounted(OPENSEARCH, context.mounts, configuration, context.scratch)
        write(configuration / "opensearch.yml", settings, context.scratch)
        write(configuration / "log4j2.properties", LOGGING, context.scratch)
        return configuration

    def _java(self, context: ContainerContext, configuration: Path) -> tuple[str, ...]:
        temporary = made(context.scratch / "tmp", context.scratch)
        options = [
            *shlex.split(context.env.get("OPENSEARCH_JAVA_OPTS", DEFAULT_HEAP)),
            *_JVM_OPTIONS,
            *self._version_options(),
        ]
        options += [f"-Djava.io.tmpdir={temporary}", f"-Dopensearch.path.home={self.home}"]
        if (archive := archive_path(self.home)).exists() and context.env.get(ARCHIVE) != NO_ARCHIVE:
            options.append(f"-XX:SharedArchiveFile={archive}")
        options += [f"-Dopensearch.path.conf={configuration}", "-cp", class_path(self.home)]
        return (str(java_path()), *options, "org.opensearch.bootstrap.OpenSearch")

    def _version_options(self) -> list[str]:
        """Gives what guards the process: up to 2.x a security manager, which Java 18 and later need an option for."""
        return ["-Djava.security.manager=allow"] if major(self.version) < 3 else []


def image(version: str) -> Image:
    """Gives the image of a version whose home has been fetched.

    Raises:
        ImageNotFound: no such version is locked, or its home is not fetched.
    """
    try:
        home = home_path(read_lock(version))
    except LabError as error:
        raise ImageNotFound(str(error)) from error
    if not home.is_dir():
        raise ImageNotFound(
            f"OpenSearch {version} is not fetched; run python -m tests.lab.opensearch fetch {version} first."
        )
    return OpenSearchImage(version, home)


def archive_path(home: Path) -> Path:
    """Gives where the class archive of a home is, if one has been made; it fits one Java runtime."""
    return home / f"classes-{java_version()}.jsa"


def class_path(home: Path) -> str:
    """Gives Java's class path; the archive holds for this one alone."""
    return f"{home}/lib/*"
