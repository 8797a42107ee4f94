"""Templates without the executor of ansible-core. Each is compiled once, and the variables are prepared once a task.

ansible-core compiles a template again for each templar, and prepares all variables again for each template within
another one. With 130 variables that was a quarter of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any
from unittest.mock import patch

from ansible._internal._templating import _jinja_bits
from ansible._internal._templating._jinja_bits import AnsibleEnvironment, _TemplateCompileContext
from ansible._internal._templating._lazy_containers import _AnsibleLazyTemplateMixin
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

_prepared = _jinja_bits._flatten_and_lazify_vars


class _Compiling(AnsibleEnvironment):
    """It keeps what it has compiled."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._kept: dict[Hashable, Any] = {}

    def overlay(self, *given: Any, **named: Any) -> Any:
        """See `Environment`. Other delimiters make other templates."""
        made = super().overlay(*given, **named)
        vars(made)["_kept"] = {}
        return made

    def compile_expression(self, source: str, *given: Any, **named: Any) -> Any:
        """See `Environment`."""
        return self._once(source, "expression", given, named, super().compile_expression)

    def from_string(self, source: Any, *given: Any, **named: Any) -> Any:
        """See `Environment`."""
        if not isinstance(source, str) or named.get("globals") or given:
            return super().from_string(source, *given, **named)
        return self._once(source, "template", given, named, super().from_string)

    def _once(self, source: str, kind: str, given: tuple[Any, ...], named: Any, compiled: Callable[..., Any]) -> Any:
        within = _TemplateCompileContext.current(optional=True)
        key = (kind, str(source), given, *sorted(named.items()), within and within.escape_backslashes)
        if key not in self._kept:
            self._kept[key] = compiled(source, *given, **named)
        return self._kept[key]


class _Variables(dict[str, Any]):
    """The variables of a templar. A template among them is filled in once."""

    prepared: Any = None
    """They, in the form in which a template reads them."""


def _prepared_once(mapping: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if not isinstance(mapping, _Variables):
        yield from _prepared(mapping)
        return
    if mapping.prepared is None:
        mapping.prepared = _AnsibleLazyTemplateMixin._try_create(dict(mapping))
    yield mapping.prepared


patch.object(_jinja_bits, "_flatten_and_lazify_vars", _prepared_once).start()


class Templating:
    """Makes templars of one environment: to find the filters of the collection again for each of them took longer than
    most templates."""

    def __init__(self, loader: DataLoader) -> None:
        self._loader = loader
        self._environment = _Compiling(ansible_basedir=loader.get_basedir())

    def of(self, variables: Mapping[str, Any]) -> Any:
        """A templar for these variables, which are not to be changed in it."""
        templar = Templar(loader=self._loader, variables=_Variables(variables))
        vars(vars(templar)["_engine"])["_environment"] = self._environment
        return templar
