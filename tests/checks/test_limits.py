"""Each limit, shown a file that breaks it and one that just keeps it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.checks.limits import PICTURE_BYTES, all_breaches, breaches


def _function(lines: int) -> str:
    return "def grown():\n" + "    pass\n" * (lines - 1)


@pytest.mark.parametrize(("lines", "found"), [(399, 0), (400, 1)])
def test_length_of_a_file(lines: int, found: int) -> None:
    assert len(list(breaches(Path("tasks/main.yml"), "- a\n" * lines))) == found


@pytest.mark.parametrize(("lines", "found"), [(49, 0), (50, 1)])
def test_length_of_a_function(lines: int, found: int) -> None:
    assert len(list(breaches(Path("plugins/modules/x.py"), _function(lines)))) == found


def test_a_lock_may_be_long() -> None:
    assert not list(breaches(Path("requirements/dev.lock"), "a\n" * 1000))


def test_a_lock_holds_no_address() -> None:
    assert list(breaches(Path("requirements/dev.lock"), "--index-url https" + "://packages.example/simple\n"))
    assert list(breaches(Path("tests/lab/locks/1.json"), '{"from": "http' + '://x/y"}\n'))


@pytest.mark.parametrize("code", ["time.sleep(1)", "await asyncio.sleep(1)", "sleep(0.1)"])
def test_a_test_does_not_sleep(code: str) -> None:
    text = f"async def test_it():\n    {code}\n"
    ast.parse(text)
    assert [found.split(":")[0] for found in breaches(Path("tests/lab/test_x.py"), text)] == ["2"]
    assert not list(breaches(Path("tests/lab/waiting.py"), text))


@pytest.mark.parametrize(
    "text",
    [
        "open('/" + "tmp/report.json')",
        "cd /" + "home/somebody/checkout",
        "python /" + "root/x.py",
        "pip install -i https://" + "pypi" + ".org/simple",
        "image: quay" + ".io/someone/opensearch:3.8.0",
    ],
)
def test_what_one_machine_has(text: str) -> None:
    assert list(breaches(Path("docs/guide.md"), f"fine\n{text}\n"))


@pytest.mark.parametrize(
    "text",
    [
        "path: /usr/share/opensearch/data",
        "the cache is /var/cache/stateful-upgrade, or ~/.cache/stateful-upgrade",
        "https://docs.example.com/home/page and https://example.com/tmp/x",
        'command: ["{{ playbook_dir }}/work/plan"]',
        "require k8s.io/client-go v0.36.3",
        "image: registry.example.com/opensearch:3.8.0",
    ],
)
def test_what_every_machine_has(text: str) -> None:
    assert not list(breaches(Path("docs/guide.md"), f"{text}\n"))


@pytest.mark.parametrize(("name", "size", "found"), [("docs/pictures", 0, 0), ("docs/pictures", 1, 1), ("docs", 0, 1)])
def test_a_picture_is_small_and_has_a_folder_of_its_own(tmp_path: Path, name: str, size: int, found: int) -> None:
    picture = tmp_path / name / "x.png"
    picture.parent.mkdir(parents=True)
    picture.write_bytes(b"\x89" * (PICTURE_BYTES + size))
    assert len(list(all_breaches(tmp_path, [Path(name, "x.png")]))) == found
