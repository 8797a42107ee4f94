"""Every module has its action plugin, over the same contract and the same work."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible_collections.stateful.upgrade.plugins.plugin_utils.in_process import (
    InProcessAction,
    is_of_system,
    is_this_python,
)

PLUGINS = Path(__file__).resolve().parents[4] / "plugins"
COLLECTION = "ansible_collections.stateful.upgrade.plugins"
MODULES = sorted(path.stem for path in (PLUGINS / "modules").glob("*.py"))


def test_every_module_has_an_action_plugin() -> None:
    assert sorted(path.stem for path in (PLUGINS / "action").glob("*.py")) == MODULES


@pytest.mark.parametrize("name", [name for name in MODULES if name != "upgrade_part"])
@pytest.mark.parametrize("written", ["{}", "stateful.upgrade.{}"])
def test_both_forms_have_the_same_contract_and_work(name: str, written: str) -> None:
    class_ = importlib.import_module(f"{COLLECTION}.action.{name}").ActionModule
    assert issubclass(class_, InProcessAction)
    action = class_.__new__(class_)
    action._task = SimpleNamespace(action=written.format(name))
    assert action._module() is importlib.import_module(f"{COLLECTION}.modules.{name}")


@pytest.mark.parametrize("name", MODULES)
def test_secrets_of_a_contract_are_marked(name: str) -> None:
    """AnsibleModule warns of an option that looks like a secret and is not marked; here nothing would."""
    contract = importlib.import_module(f"{COLLECTION}.modules.{name}").CONTRACT
    unmarked = []
    for option, spec in contract.argument_spec.items():
        for inner, inner_spec in {option: spec, **spec.get("options", {})}.items():
            if any(word in inner for word in ("password", "token", "api_key", "secret")) and "no_log" not in inner_spec:
                unmarked.append(f"{option}.{inner}")
    assert unmarked == []


@pytest.mark.parametrize(
    ("path", "system", "part"),
    [
        ("/roles/lamps/tasks/down.yml:7", "example.lamps.lamps", True),
        ("/gates/gate.yml:1", "example.lamps.lamps", False),
        ("/roles/lamps-gate.yml:1", "example.lamps.lamps", False),
        ("/roles/lamps/tasks/down.yml:7", "stateful.upgrade.longhorn", False),
        ("", "example.lamps.lamps", False),
    ],
)
def test_the_tasks_of_the_role_of_a_system_are_part_of_its_runs_and_included_files_of_users_are_not(
    path: str, system: str, part: bool
) -> None:
    variables = {"ansible_role_name": "example.lamps.lamps", "role_path": "/roles/lamps", "upgrade_system": system}
    assert is_of_system(path, variables) == part


def test_this_python_under_its_own_name() -> None:
    assert is_this_python(sys.executable)


def test_this_python_under_another_name_in_its_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = tmp_path / "python3.11"
    real.touch()
    (tmp_path / "python").symlink_to(real)
    monkeypatch.setattr(sys, "executable", str(real))
    assert is_this_python(str(tmp_path / "python"))


def test_a_link_elsewhere_is_another_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    real = tmp_path / "one" / "python"
    real.touch()
    (tmp_path / "two" / "python").symlink_to(real)
    monkeypatch.setattr(sys, "executable", str(real))
    assert not is_this_python(str(tmp_path / "two" / "python"))


def test_a_name_without_a_directory_is_another_python() -> None:
    assert not is_this_python(os.path.basename(sys.executable))


def test_lookups_and_filters_are_there_before_the_controller_forks() -> None:
    """Otherwise each worker would load them again."""
    code = (
        "import conftest, importlib, sys\n"
        f"importlib.import_module('{COLLECTION}.action.upgrade_part')\n"
        # The name has a number behind it, and before it in ansible-core 2.16.
        "files = [name for name in sys.modules if name.startswith('ansible.plugins.filter.')]\n"
        "there = [name for name in files if 'core' in name.rpartition('.')[2].split('_')]\n"
        f"lookups = [f'{COLLECTION}.lookup.{{name}}' for name in ('batch_of_run', 'order_of_run')]\n"
        "sys.exit(' '.join(name for name in lookups if name not in sys.modules) or ('' if there else 'filters') or 0)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=PLUGINS.parent, check=False, capture_output=True, text=True)
    assert (run.stderr.strip(), run.returncode) == ("", 0)


def test_a_module_is_imported_with_its_action_plugin() -> None:
    """In the controller, before it forks: each worker would compile it again."""
    code = (
        "import conftest, importlib, sys\n"
        f"[importlib.import_module(f'{COLLECTION}.action.{{name}}') for name in {MODULES}]\n"
        f"sys.exit(' '.join(name for name in {MODULES} if f'{COLLECTION}.modules.{{name}}' not in sys.modules) or 0)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=PLUGINS.parent, check=False, capture_output=True, text=True)
    assert (run.stderr.strip(), run.returncode) == ("", 0)
