"""The commands of the pages of the site, run in a shell one after another, as a reader would."""

from __future__ import annotations

import base64
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pexpect  # type: ignore[import-untyped]
import pytest
import yaml

from tests.lab.opensearch.layouts import three_combined
from tests.scenarios.cluster import USER, Cluster
from tests.scenarios.platforms import Platform
from tests.scenarios.playbook import PATIENCE, upgrade
from tests.scenarios.preconditions import POOL
from tests.site.commands import DOCS, files_in, played

pytestmark = pytest.mark.own_process

LONG = frozenset({"gitops.md", "running.md", "start.md", "template-changes.md"})
"""Pages whose commands take minutes. The README has most of those of the start."""
PAGES = [
    pytest.param(page.name, marks=[pytest.mark.soak] if page.name in LONG else [])
    for page in sorted(DOCS.glob("*.md"))
    if played(page)
]
NAMESPACE = re.compile(r"(?<=namespace=)search\b|(?<=namespace: )search\b|(?<=-n )search\b")
"""The namespace that the pages name. Each page gets another one, since volumes outlive their cluster."""
HOST = re.compile(r"https://search(?:-\d)?\.example\.com:9200")
CA = "/etc/ssl/search-ca.pem"
DIGEST = re.compile(r"\bp[0-9a-f]{11}\b")
QUESTION = "Type yes"
SECRET = re.compile(r"^read -rs (?P<name>\w+) && export \w+$")
PLAN = "ansible-playbook stateful.upgrade.plan -e target_version=3.8.0 -e upgrade_namespace=search"
"""The command that is run for a page which only says how to reach the servers."""
FILES = {
    "upgrade.yml": "target_version: 3.8.0\nupgrade_namespace: search\nupgrade_opensearch_hosts: https://search.example.com:9200\n"
}
"""Files that a reader of any page has, unless the page shows them."""
BEGUN = frozenset({"running.md"})
"""Pages for someone whose upgrade has started."""


class Reader:
    """A person who has a cluster and a folder, and types what a page says."""

    def __init__(self, cluster: Cluster, folder: Path, environment: Mapping[str, str]) -> None:
        self.cluster, self.folder = cluster, folder
        self.environment = {**environment, "K8S_AUTH_KUBECONFIG": str(cluster.platform.kubeconfig(USER))}
        self.exports: list[str] = []
        self.digest = ""

    def adapted(self, text: str) -> str:
        """A text of the page with what this cluster has in the place of what the page names."""
        text = NAMESPACE.sub(self.cluster.namespace, HOST.sub(self.cluster.url, text)).replace(
            CA, str(self.folder / "ca.pem")
        )
        return DIGEST.sub(self.digest, text) if self.digest else text

    def run(self, command: str) -> str:
        """The output of a command. A question whether to go on is answered with yes."""
        typed = SECRET.match(command)
        if typed or command.startswith("export "):
            self.exports.append(f"export {typed['name']}=typed" if typed else self.adapted(command))
            return ""
        line = "; ".join([*self.exports, self.adapted(command)])
        shell = pexpect.spawn(
            "bash", ["-ec", line], cwd=str(self.folder), env=self.environment, timeout=PATIENCE, encoding="utf-8"
        )
        said = ""
        while shell.expect([QUESTION, pexpect.EOF]) == 0:
            said += shell.before + shell.after + answered(shell)
        shell.close()
        said += shell.before
        print(f"$ {shlex.join(['bash', '-ec', line])}\n{said}")
        assert shell.exitstatus == 0, f"{command}\n{said}"
        found = DIGEST.search(said)
        self.digest = found[0] if found else self.digest
        return said


def answered(shell: Any) -> str:
    """Type yes until it is heard, and give what is said until then: Ansible throws away what is typed before it
    listens, which it does shortly after its question."""
    shell.sendline("yes")
    while shell.expect(["TASK", pexpect.EOF, pexpect.TIMEOUT], timeout=5) == 2:
        shell.sendline("yes")
    return str(shell.before) + (shell.after if isinstance(shell.after, str) else "")


def authority(platform: Platform) -> bytes:
    """A CA certificate, in the place of the one that the pages name."""
    kubeconfig = yaml.safe_load(platform.kubeconfig().read_text(encoding="utf-8"))
    return base64.b64decode(kubeconfig["clusters"][0]["cluster"]["certificate-authority-data"])


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_do_their_work(
    page: str, platform: Platform, ansible_environment: Mapping[str, str], tmp_path: Path
) -> None:
    cluster = Cluster.start(platform, f"of-{page.removesuffix('.md')}", three_combined, "2.19.6")
    try:
        reader = Reader(cluster, tmp_path, ansible_environment)
        (tmp_path / "ca.pem").write_bytes(authority(platform))
        files = FILES | dict(files_in((DOCS / page).read_text(encoding="utf-8")))
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(reader.adapted(text), encoding="utf-8")
        if page in BEGUN:
            begun = upgrade(cluster.variables("3.8.0", upgrade_members=[f"{POOL}-0"]), ansible_environment)
            assert begun.code == 0, begun.output
        said = [reader.run(command) for command in played(DOCS / page)]
        if not any(said):
            assert reader.run(PLAN)
    finally:
        cluster.remove()
