"""The configuration of a member that the role `member_service` places, on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.unit.roles.steps import step_of, take

FORMER, WANTED = "node.name: a\n", "node.name: a\nhttp.port: 9200\n"


def test_a_configuration_behind_a_link_is_replaced_there(
    tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    target, link = tmp_path / "target.yml", tmp_path / "opensearch.yml"
    target.write_text(FORMER)
    target.chmod(0o640)
    link.symlink_to(target)
    given = {"member_service_path": str(link), "member_service_content": WANTED}
    placed = take(tmp_path, ansible_environment, given, step_of("member_service", "install"))
    assert placed.code == 0, placed.message
    assert link.readlink() == target
    assert (target.read_text(), target.stat().st_mode & 0o777) == (WANTED, 0o640)
    assert (tmp_path / "opensearch.yml.previous").read_text() == FORMER
