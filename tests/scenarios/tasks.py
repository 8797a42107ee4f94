"""Runs single modules of the collection as users do: as tasks of a playbook that was written for the occasion."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.scenarios.cluster import USER, Cluster
from tests.scenarios.playbook import play

Result = dict[str, Any]

OF_ANSIBLE = frozenset({"changed", "diff", "exception", "failed", "invocation", "msg", "warnings"})
"""The fields that every result may have without the module documenting them."""
TYPES: Mapping[str, type | tuple[type, ...]] = {
    "bool": bool,
    "dict": dict,
    "float": (int, float),
    "int": int,
    "list": list,
    "str": str,
}


@dataclass(frozen=True)
class Step:
    """One task."""

    module: str
    options: Mapping[str, Any]
    keywords: Mapping[str, Any] = field(default_factory=dict)


def step(module: str, *, check: bool = False, **options: Any) -> Step:
    """A task in diff mode, and in check mode if asked for."""
    return Step(module, options, {"check_mode": check, "diff": True})


@dataclass(frozen=True)
class Tasks:
    """Plays steps against one cluster, in a directory of its own."""

    cluster: Cluster
    directory: Path
    environment: Mapping[str, str]

    def play(self, *steps: Step) -> list[Result]:
        """The results, in order; a step that fails does not keep the next ones from being played."""
        names = [f"result_{number}" for number in range(len(steps))]
        results = self.directory / "results.json"
        results.unlink(missing_ok=True)
        keep = {"content": f"{{{{ [{', '.join(names)}] | to_json }}}}", "dest": str(results), "mode": "0600"}
        content = {
            "hosts": "localhost",
            "connection": "local",
            "gather_facts": False,
            "module_defaults": {"group/stateful.upgrade.all": self._connections()},
            "tasks": [
                *(
                    {
                        f"stateful.upgrade.{each.module}": dict(each.options),
                        **each.keywords,
                        "register": name,
                        "ignore_errors": True,
                    }
                    for name, each in zip(names, steps, strict=True)
                ),
                {"ansible.builtin.copy": keep},
            ],
        }
        playbook = self.directory / "playbook.yml"
        playbook.write_text(json.dumps([content]), encoding="utf-8")
        played = play(str(playbook), {}, self.environment)
        print(played.output)
        assert played.code == 0
        assert "Traceback" not in played.output
        found: list[Result] = json.loads(results.read_text(encoding="utf-8"))
        for each, result in zip(steps, found, strict=True):
            different = list(differences(each.module, result))
            assert not different, different
        return found

    def one(self, module: str, *, check: bool = False, **options: Any) -> Result:
        """The result of a single step."""
        (result,) = self.play(step(module, check=check, **options))
        return result

    def _connections(self) -> dict[str, Any]:
        return {
            "kubernetes": {"kubeconfig": str(self.cluster.platform.kubeconfig(USER))},
            "opensearch": {"hosts": [self.cluster.url]},
        }


def differences(module: str, result: Result) -> Iterator[str]:
    """One sentence for each difference between a result and the module's RETURN."""
    text = importlib.import_module(f"ansible_collections.stateful.upgrade.plugins.modules.{module}").RETURN
    documented: dict[str, Any] = yaml.safe_load(text)
    for name, value in documented.items():
        expected = value["returned"] == "always" or (value["returned"] == "success" and not result["failed"])
        if name not in result and expected:
            yield f"{name} is documented as returned: {value['returned']}, and is not there"
        elif result.get(name) is None and "null" in str(value["description"]):
            continue
        elif name in result and not isinstance(result[name], TYPES[value["type"]]):
            yield f"{name} is documented as {value['type']}, and is {result[name]!r}"
    for name in sorted(result.keys() - documented.keys() - OF_ANSIBLE):
        yield f"{name} is returned, and is not documented"
