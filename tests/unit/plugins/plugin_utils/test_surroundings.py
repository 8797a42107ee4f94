"""The environment of a task, and what libraries print."""

from __future__ import annotations

import gc
import io
import logging
import os
import sys
from pathlib import Path

import pytest
from ansible_collections.stateful.upgrade.plugins.plugin_utils.surroundings import (
    environment_of_task,
    kept_from_the_terminal,
    load_early,
    show_lines_at_once,
)


def test_environment_is_in_force_and_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEPT", "old")
    monkeypatch.delenv("ADDED", raising=False)
    with environment_of_task({"KEPT": "new", "ADDED": 5}):
        assert (os.environ["KEPT"], os.environ["ADDED"]) == ("new", "5")
    assert (os.environ["KEPT"], os.environ.get("ADDED")) == ("old", None)


def test_environment_is_put_back_after_an_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ADDED", raising=False)
    with pytest.raises(KeyboardInterrupt), environment_of_task({"ADDED": "x"}):
        raise KeyboardInterrupt
    assert "ADDED" not in os.environ


def test_other_changes_of_the_environment_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTHER", raising=False)
    with environment_of_task({"ADDED": "x"}):
        monkeypatch.setenv("OTHER", "y")
    assert os.environ["OTHER"] == "y"


def test_what_libraries_print_is_caught(capsys: pytest.CaptureFixture[str]) -> None:
    with kept_from_the_terminal() as text:
        print("printed")
        sys.stderr.write("written\n")
        logging.getLogger("library").error("logged")
    assert [word for word in ("printed", "written", "logged") if word not in text.getvalue()] == []
    assert capsys.readouterr() == ("", "")


def test_listeners_at_the_root_logger_hear_nothing_meanwhile() -> None:
    heard = io.StringIO()
    listener = logging.StreamHandler(heard)
    logging.root.addHandler(listener)
    try:
        with kept_from_the_terminal():
            logging.getLogger("library").error("inside")
        logging.getLogger("library").error("outside")
    finally:
        logging.root.removeHandler(listener)
    assert heard.getvalue() == "outside\n"


def test_a_missing_package_does_no_harm() -> None:
    load_early(("no_such_package_anywhere",))


def test_a_package_that_breaks_does_no_harm(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(f"{tmp_path}/broken_package.py", "w", encoding="utf-8") as file:
        file.write("raise RuntimeError('broken')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    load_early(("broken_package",))
    assert "broken_package" not in sys.modules


def test_lines_go_out_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BufferedWriter(pipe)))
    print("first")
    assert pipe.getvalue() == b""
    show_lines_at_once()
    print("second")
    assert pipe.getvalue() == b"first\nsecond\n"


def test_an_output_that_is_no_file_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    show_lines_at_once()


def test_an_early_import_collects_nothing_and_stays_out_of_later_collections(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # A worker that collects would copy the memory of the controller.
    (tmp_path / "collecting_package.py").write_text("import gc\nCOLLECTS = gc.isenabled()\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "collecting_package", raising=False)
    before = gc.get_freeze_count()
    load_early(("collecting_package",))
    assert not sys.modules["collecting_package"].COLLECTS
    assert gc.get_freeze_count() > before
    assert gc.isenabled()


def test_what_was_imported_before_keeps_nothing_for_good() -> None:
    # The garbage of the play so far would never be collected.
    before = gc.get_freeze_count()
    load_early(("json", "logging"))
    assert gc.get_freeze_count() <= before


@pytest.mark.usefixtures("uncollected")
def test_a_collector_that_is_off_stays_off() -> None:
    load_early(("no_such_package",))
    assert not gc.isenabled()
