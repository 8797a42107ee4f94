"""The image ``elasticsearch:<version>``: how a container of it becomes one Java process on this machine.

It understands what the official image does: settings as environment variables with dots in their names, a mounted
``/usr/share/elasticsearch/config/elasticsearch.yml``, ``ES_JAVA_OPTS``, and data at the mount of
``/usr/share/elasticsearch/data``. Security is off unless ``xpack.security.enabled`` is set.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.lab.elasticsearch.homes import home_path
from tests.lab.elasticsearch.server_arguments import server_arguments
from tests.lab.errors import LabError
from tests.lab.images import ContainerContext, Image, ImageNotFound, Launch
from tests.lab.opensearch.configuration import (
    LOGGING,
    Server,
    is_entry,
    made,
    member_settings,
    render,
    take_mounted,
    write,
)
from tests.lab.opensearch.java import java_path
from tests.lab.opensearch.locks import major

ELASTICSEARCH = Server("/usr/share/elasticsearch", "elasticsearch.yml", {"xpack.security.enabled": False})
DEFAULT_HEAP = "-Xms256m -Xmx256m"
"""The heap unless ES_JAVA_OPTS is given."""
_JVM_OPTIONS = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-XX:MaxDirectMemorySize=128m",
    "-Djava.security.manager=allow",
    "-Djava.locale.providers=SPI,COMPAT",
    "-Djna.nosys=true",
    "-Dlog4j2.disable.jmx=true",
    "-Dlog4j.shutdownHookEnabled=false",
    "-Dio.netty.noUnsafe=true",
    "-Dio.netty.noKeySetOptimization=true",
    "-Dio.netty.recycler.maxCapacityPerThread=0",
    "-Des.distribution.type=zip",
)
_MAIN = "org.elasticsearch.bootstrap.Elasticsearch"
# From 8 on a launcher, a Java process of its own, writes the settings to the server's standard input, whose end ends
# the server. The lab writes them itself, and holds the pipe open with the process itself: a boot costs half as much.
_FED = 'rm -f stdin && mkfifo stdin && exec 0<>stdin && cat arguments >&0 && exec "$0" "$@"'


@dataclass(frozen=True)
class ElasticsearchImage:
    """One version, unpacked at ``home``."""

    version: str
    home: Path

    @property
    def folders(self) -> Mapping[str, Path]:
        """Its home. A member reports the home of its own version, which in a container has the same name in all."""
        homes = [each for each in self.home.parent.iterdir() if (each / "lib").is_dir()]
        return {ELASTICSEARCH.installation: self.home, **{str(each): self.home for each in homes}}

    def takes(self, command: Sequence[str]) -> bool:
        """Whether it handles the command itself: only its entry point."""
        return is_entry(command)

    def prepare(self, _context: ContainerContext) -> Mapping[str, Path]:
        """Gives nothing: a command that runs the entry point among others does not work with this image."""
        return {}

    def launch(self, context: ContainerContext) -> Launch:
        """Gives the Java process, or a shell that becomes it; writes its configuration first.

        Raises:
            LabError: the mounted elasticsearch.yml is not a mapping.
        """
        configuration, temporary = (made(context.scratch / name, context.scratch) for name in ("config", "tmp"))
        settings = member_settings(ELASTICSEARCH, context)
        take_mounted(ELASTICSEARCH, context.mounts, configuration, context.scratch)
        write(configuration / "log4j2.properties", LOGGING, context.scratch)
        write(configuration / "elasticsearch.yml", render(settings), context.scratch)
        options = [
            *shlex.split(context.env.get("ES_JAVA_OPTS", DEFAULT_HEAP)),
            *_JVM_OPTIONS,
            f"-Djava.io.tmpdir={temporary}",
            f"-Des.path.home={self.home}",
        ]
        env = {**context.env, "LIBFFI_TMPDIR": str(temporary), "ES_TMPDIR": str(temporary)}
        if major(self.version) < 8:
            options += [f"-Des.path.conf={configuration}", "-cp", f"{self.home}/lib/*", _MAIN]
            return Launch((str(java_path()), *options), env, context.scratch)
        fed = server_arguments({**settings, "path.home": str(self.home)}, configuration, Path(settings["path.logs"]))
        (context.scratch / "arguments").write_bytes(fed)
        argv = ("/bin/sh", "-c", _FED, str(java_path()), *options, *self._modular_options())
        return Launch(argv, env, context.scratch)

    def _modular_options(self) -> list[str]:
        """Gives the options with which the launcher starts the server: modules, and what guards them."""
        bridge = f"{self.home}/lib/entitlement-bridge/elasticsearch-entitlement-bridge-{self.version}.jar"
        agent = f"{self.home}/lib/entitlement-agent/elasticsearch-entitlement-agent-{self.version}.jar"
        readers = "org.elasticsearch.entitlement,java.logging,java.net.http,java.naming,jdk.net"
        return [
            "--enable-native-access=org.elasticsearch.nativeaccess,org.apache.lucene.core",
            "--enable-native-access=ALL-UNNAMED",
            "-Des.entitlements.enabled=true",
            f"-Des.entitlement.agentJar={agent}",
            "-XX:+EnableDynamicAgentLoading",
            "-Djdk.attach.allowAttachSelf=true",
            f"--patch-module=java.base={bridge}",
            f"--add-exports=java.base/org.elasticsearch.entitlement.bridge={readers}",
            "--module-path",
            f"{self.home}/lib",
            "--add-modules=jdk.net,jdk.management.agent,ALL-MODULE-PATH",
            "-m",
            f"org.elasticsearch.server/{_MAIN}",
        ]


def image(version: str) -> Image:
    """Gives the image of a version whose home has been fetched.

    Raises:
        ImageNotFound: the version is not locked, or its home is not fetched.
    """
    try:
        home = home_path(version)
    except LabError as error:
        raise ImageNotFound(str(error)) from error
    if not home.is_dir():
        raise ImageNotFound(f"Elasticsearch {version} is not fetched; run python -m tests.lab.elasticsearch {version}.")
    return ElasticsearchImage(version, home)
