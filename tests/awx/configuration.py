"""The configuration as AWX gets it from the roles of infra.aap_configuration, which fill in the variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from jinja2 import StrictUndefined
from jinja2.meta import find_undeclared_variables
from jinja2.nativetypes import NativeEnvironment

AWX = Path(__file__).parents[2] / "extensions" / "awx"
PROJECT = AWX / "project"
OF_AWX = "{  {"
"""The roles make `{{` of it, so that Ansible leaves to AWX what AWX fills in."""


def _combined(first: Mapping[str, Any], *more: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for each in (first, *more) for name, value in each.items()}


_TEMPLATES = NativeEnvironment(undefined=StrictUndefined)
_TEMPLATES.filters["combine"] = _combined


@dataclass(frozen=True)
class Configuration:
    """Everything that the files say, by the names under which AWX knows it."""

    variables: Mapping[str, Any]

    @classmethod
    def read(cls, **changed: Any) -> Configuration:
        """The files, with other values for variables of `settings.yml`."""
        loaded: dict[str, Any] = {}
        for path in sorted((AWX / "configuration").glob("*.yml")):
            said = yaml.safe_load(path.read_text(encoding="utf-8"))
            assert not loaded.keys() & said.keys(), path
            loaded |= said
        assert changed.keys() <= loaded.keys(), changed
        loaded |= changed
        return cls({name: _filled(loaded[name], loaded) for name in loaded if name.startswith("controller_")})

    def of(self, kind: str) -> dict[str, dict[str, Any]]:
        """The objects of a kind, such as `templates`, by name."""
        return {each["name"]: each for each in self.variables[f"controller_{kind}"]}

    def template(self, name_without_cluster: str) -> dict[str, Any]:
        """The job template of this name, without the name of the cluster before it."""
        (found,) = (
            each for name, each in self.of("templates").items() if name.partition(" ")[2] == name_without_cluster
        )
        return found

    @property
    def inventory(self) -> dict[str, Any]:
        """The only inventory, in the form of a file."""
        (inventory,) = self.of("inventories").values()
        hosts = {name: each["variables"] for name, each in self.of("hosts").items()}
        return {"all": {"vars": inventory["variables"], "hosts": hosts}}

    @property
    def workflow(self) -> dict[str, Any]:
        """The only workflow."""
        (found,) = self.variables["controller_workflows"]
        return dict(found)


def questions_of(template: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The questions of the survey of a template or a workflow."""
    return list(template["survey_spec"]["spec"]) if template.get("survey_enabled") else []


def texts_in(value: Any) -> Iterator[str]:
    """Every text of a value, however deep."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from texts_in(name)
            yield from texts_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts_in(each)
    elif isinstance(value, str):
        yield value


def _filled(value: Any, variables: Mapping[str, Any]) -> Any:
    """The value with the variables filled in, as Ansible does it."""
    if isinstance(value, Mapping):
        return {name: _filled(each, variables) for name, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, variables) for each in value]
    if not isinstance(value, str) or "{{" not in value:
        return value.replace(OF_AWX, "{{") if isinstance(value, str) else value
    template = _TEMPLATES.from_string(value)
    used = {name: _filled(variables[name], variables) for name in _names_in(value, variables)}
    filled = template.render(used)
    return _filled(filled, variables) if isinstance(filled, str) else filled


def _names_in(text: str, variables: Mapping[str, Any]) -> list[str]:
    names = find_undeclared_variables(_TEMPLATES.parse(text))
    return [name for name in names if name in variables]
