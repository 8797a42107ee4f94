"""The plugins of the members against those of the new image. Pure.

A server without a plugin that its settings, indices or the cluster state need does not start, does not join, or fails
shards. One with a plugin that was built for another version does not start either (server source,
PluginsService.verifyCompatibility).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...common.verdict import Reason, Verdict, as_verdict, refused, remark
from ...common.words import enumerate_few
from ...pools.pull_pod import MESSAGE, PullQuestion
from ..observe.plugins import Installed
from ..observe.products import ELASTICSEARCH, OPENSEARCH, product_of
from ..observe.version import Version

END = "."
"""The last line of a whole list."""
INSTALLERS = tuple(product.installer for product in (OPENSEARCH, ELASTICSEARCH))
"""The programs that install plugins, as charts and operators run them when a pod starts."""
LIST = f"""\
cd "$0/plugins" || exit 3
for file in */plugin-descriptor.properties; do
  [ -f "$file" ] || continue
  name= version=
  while IFS='=' read -r key value || [ -n "$key" ]; do
    case "$key" in name) name=$value ;; opensearch.version|elasticsearch.version) version=$value ;; esac
  done < "$file"
  echo "$name $version"
done > {MESSAGE}
echo "{END}" >> {MESSAGE}
"""
"""It writes name and version of each plugin under the home that is its argument, with nothing but a shell."""

Plugins = Mapping[str, str]
"""The version of the server that a plugin was built for, by the name of the plugin; empty if it does not say."""


@dataclass(frozen=True)
class PoolPlugins:
    """A pool: its members' plugins now, and how its pods get them."""

    name: str
    installed: Mapping[str, Installed]
    """The installations of its members, by name."""
    template: Mapping[str, Any]
    """The spec of its pods."""

    @property
    def home(self) -> str:
        """The folder of the installation, which the new image has at the same place."""
        return min((each.home for each in self.installed.values()), default="")

    @property
    def other_source(self) -> str:
        """How a plugin that is not in the image may come into a pod all the same; empty if in no way."""
        folder = f"{self.home}/plugins"
        for container in (*(self.template.get("initContainers") or ()), *(self.template.get("containers") or ())):
            words = (*(container.get("command") or ()), *(container.get("args") or ()))
            for installer in (one for one in INSTALLERS if any(one in str(word) for word in words)):
                return f"container {container['name']} runs {installer} when it starts"
            for mount in container.get("volumeMounts") or ():
                path = str(mount["mountPath"])
                if f"{path.rstrip('/')}/".startswith(f"{folder}/"):
                    return f"volume {mount['name']} is mounted at {path}"
        return ""


def _with_plugin(installed: Mapping[str, Installed]) -> Mapping[str, list[str]]:
    """The members that have a plugin, by its name."""
    found: dict[str, list[str]] = {}
    for member, each in installed.items():
        for plugin in each.plugins:
            found.setdefault(plugin, []).append(member)
    return found


def question_for(pool: PoolPlugins, image: str, target: Version) -> PullQuestion | None:
    """The question for the plugins of an image; None if no member of the pool has said where its own are."""
    if not pool.home:
        return None

    def judge(answer: str | None) -> Verdict:
        return judge_plugins(pool, image, target, listed_in(answer))

    return PullQuestion(("sh", "-c", LIST, pool.home), judge)


def listed_in(answer: str | None) -> Plugins | None:
    """The plugins of an image from what `LIST` has written; None if that is not whole."""
    lines = (answer or "").splitlines()
    if not lines or lines[-1] != END:
        return None
    pairs = (line.partition(" ") for line in lines[:-1])
    return {name.strip(): version.strip() for name, _space, version in pairs}


@as_verdict
def judge_plugins(pool: PoolPlugins, image: str, target: Version, there: Plugins | None) -> Iterator[Reason]:
    """Whether the image holds every plugin that a member of the pool has, built for the target version."""
    needed = _with_plugin(pool.installed)
    if there is None:
        if needed:
            yield unknown(image, pool.name, "its container could not list them", needed)
        return
    for plugin in sorted(needed.keys() - there.keys()):
        yield _missing(pool, plugin, needed[plugin], image, target)
    for plugin, version in sorted(there.items()):
        if version and version != str(target):
            yield refused(
                "plugin_of_another_version",
                f"Plugin {plugin} of image {image} was built for {product_of(target).name} {version}: a member of pool"
                f" {pool.name} that runs {target} does not start with it.",
                f"Use an image whose plugins were built for {target}. To continue anyway, set skip_checks: [plugins].",
            )


@as_verdict
def judge_hosts(installed: Mapping[str, Installed], target: Version) -> Iterator[Reason]:
    """A remark with the plugins of members on plain hosts, which only their user installs."""
    found = _with_plugin(installed)
    if found:
        few = {plugin: names for plugin, names in found.items() if len(names) < len(installed)}
        only = "".join(f", {plugin} only on {enumerate_few(names)}" for plugin, names in sorted(few.items()))
        yield remark(
            "plugins_on_hosts",
            f"Members have these plugins, which were not looked for in {target}: {', '.join(sorted(found))}{only}.",
            f"See that whatever installs {target} on the hosts installs builds of them for {target}.",
        )


def unknown(image: str, pool: str, why: str, needed: Iterable[str] = ()) -> Reason:
    """The remark that it is not known whether the image has all plugins."""
    said = f" Members of the pool have {', '.join(sorted(needed))}." if needed else ""
    return remark(
        "plugins_unknown",
        f"It is not known which plugins image {image} of pool {pool} holds: {why}.{said}",
        "Compare with the output of the program in its bin that lists plugins (opensearch-plugin list).",
    )


def _missing(pool: PoolPlugins, plugin: str, members: list[str], image: str, target: Version) -> Reason:
    message = f"Image {image} does not hold plugin {plugin}, which members of pool {pool.name} have: "
    message += enumerate_few(members)
    if pool.other_source:
        return remark(
            "plugin_brought_along",
            f"{message}. It may come from elsewhere, since {pool.other_source}.",
            f"Check that a build of {plugin} for {target} comes from there.",
        )
    return refused(
        "plugin_missing",
        f"{message}.",
        f"Use an image that holds {plugin}, built for {target}. If it is no longer wanted, set skip_checks: [plugins].",
    )
