"""Component templates and index templates."""

from __future__ import annotations

import fnmatch
from typing import Any

from tests.sandbox.opensearch.errors import ServerError, illegal
from tests.sandbox.opensearch.rest.routes import ACKNOWLEDGED, PATIENCE, Call, Route, answered
from tests.sandbox.opensearch.values import as_text, flat, nested
from tests.sandbox.web import Answer

_READ = frozenset({"local", "master_timeout", "cluster_manager_timeout", "flat_settings"})
_WRITE = PATIENCE | {"create", "cause"}


def _read(call: Call, templates: dict[str, Any], key: str, what: str) -> Answer:
    """Those of a name or a pattern, or all of them."""
    name = call.parts.get("name", "*")
    found = [each for each in templates if fnmatch.fnmatchcase(each, name)]
    if not found and "*" not in name:
        raise ServerError(404, "resource_not_found_exception", f"{what} matching [{name}] not found")
    return answered({f"{key}s": [{"name": each, key: templates[each]} for each in found]})


def _write(call: Call, templates: dict[str, Any], what: str) -> Answer:
    name, body = call.parts["name"], call.needed_body
    call.cluster.indices.judge_blocks("", "metadata_write")
    if call.flag("create") and name in templates:
        raise illegal(f"{what} [{name}] already exists")
    template = dict(body.get("template") or {})
    if template.get("settings"):
        settings = {
            n: v if v is None else v if isinstance(v, list) else as_text(v)
            for n, v in flat(template["settings"]).items()
        }
        template["settings"] = nested({f"index.{n.removeprefix('index.')}": v for n, v in settings.items()})
    templates[name] = {**body, "template": template}
    call.state.changed()
    return answered(ACKNOWLEDGED)


def _remove(call: Call, templates: dict[str, Any]) -> Answer:
    name = call.parts["name"]
    found = [each for each in templates if fnmatch.fnmatchcase(each, name)]
    if not found:
        raise ServerError(404, "index_template_missing_exception", f"index_template [{name}] missing")
    call.cluster.indices.judge_blocks("", "metadata_write")
    for each in found:
        del templates[each]
    call.state.changed()
    return answered(ACKNOWLEDGED)


def _read_components(call: Call) -> Answer:
    return _read(call, call.state.component_templates, "component_template", "component template")


def _write_component(call: Call) -> Answer:
    return _write(call, call.state.component_templates, "component template")


def _remove_component(call: Call) -> Answer:
    return _remove(call, call.state.component_templates)


def _read_templates(call: Call) -> Answer:
    return _read(call, call.state.index_templates, "index_template", "index template")


def _write_template(call: Call) -> Answer:
    """One that is made of no components says so."""
    answer = _write(call, call.state.index_templates, "index template")
    call.state.index_templates[call.parts["name"]].setdefault("composed_of", [])
    return answer


def _remove_template(call: Call) -> Answer:
    return _remove(call, call.state.index_templates)


ROUTES = (
    Route(("GET",), "/_component_template", _read_components, _READ, in_place_from=(9, 0)),
    Route(("GET",), "/_component_template/{name}", _read_components, _READ, in_place_from=(9, 0)),
    Route(("PUT", "POST"), "/_component_template/{name}", _write_component, _WRITE),
    Route(("DELETE",), "/_component_template/{name}", _remove_component, PATIENCE),
    Route(("GET",), "/_index_template", _read_templates, _READ, in_place_from=(9, 0)),
    Route(("GET",), "/_index_template/{name}", _read_templates, _READ, in_place_from=(9, 0)),
    Route(("PUT", "POST"), "/_index_template/{name}", _write_template, _WRITE),
    Route(("DELETE",), "/_index_template/{name}", _remove_template, PATIENCE),
)
