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


def test_the_content_of_the_plan_is_placed_whatever_the_template_has_become(
    tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    path, template = tmp_path / "opensearch.yml", tmp_path / "wanted.j2"
    path.write_text(FORMER)
    template.write_text(WANTED)
    edited = {"ansible.builtin.copy": {"content": "node.name: b\n", "dest": str(template), "mode": "0644"}}
    given = {"member_service_path": str(path), "member_service_template": str(template)}
    look, install = step_of("member_service", "look"), step_of("member_service", "install")
    placed = take(tmp_path, ansible_environment, given, look, edited, install)
    assert placed.code == 0, placed.message
    assert template.read_text() == "node.name: b\n"
    assert path.read_text() == WANTED
