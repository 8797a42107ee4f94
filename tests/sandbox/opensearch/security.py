"""The scheme of the REST port of a member, from its settings as the security plugin and X-Pack read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_TRUE = "true"


def has_tls(settings: Mapping[str, Any]) -> bool:
    """Whether the REST port has TLS: it is turned on there, and security is not turned off as a whole."""
    plugin = any(
        str(settings.get(f"{family}.ssl.http.enabled", "")) == _TRUE
        and str(settings.get(f"{family}.disabled", "")) != _TRUE
        for family in ("plugins.security", "opendistro_security")
    )
    x_pack = (
        str(settings.get("xpack.security.http.ssl.enabled", "")) == _TRUE
        and str(settings.get("xpack.security.enabled", _TRUE)) == _TRUE
    )
    return plugin or x_pack
