"""The settings of plugins of the OpenSearch distribution that later versions do not have any more. Data.

They come from the breaking changes of 3.0.0 (OpenSearch documentation, Breaking changes), and from the sources of the
plugins: k-NN, KNNSettings and pull request #2564; SQL, LegacySettings and pull requests #82, #140 and #3326. Settings
of other plugins are not known.
"""

from __future__ import annotations

from collections.abc import Mapping

_METHOD = "the method of the field in the mapping: reindex an index whose fields have no method"
_OLD = "opendistro"

REMOVED: Mapping[str, Mapping[str, str]] = {
    "3.0.0": {
        "index.knn.algo_param.ef_construction": f"ef_construction in {_METHOD}",
        "index.knn.algo_param.m": f"m in {_METHOD}",
        "index.knn.space_type": f"space_type in {_METHOD}",
        "knn.plugin.enabled": "",
        f"{_OLD}.ppl.enabled": "plugins.ppl.enabled",
        f"{_OLD}.ppl.query.memory_limit": "plugins.query.memory_limit",
        f"{_OLD}.query.size_limit": "plugins.query.size_limit",
        f"{_OLD}.sql.cursor.enabled": "",
        f"{_OLD}.sql.cursor.fetch_size": "",
        f"{_OLD}.sql.cursor.keep_alive": "plugins.sql.cursor.keep_alive",
        f"{_OLD}.sql.enabled": "plugins.sql.enabled",
        f"{_OLD}.sql.engine.new.enabled": "",
        f"{_OLD}.sql.metrics.rollinginterval": "plugins.query.metrics.rolling_interval",
        f"{_OLD}.sql.metrics.rollingwindow": "plugins.query.metrics.rolling_window",
        f"{_OLD}.sql.query.analysis.enabled": "",
        f"{_OLD}.sql.query.analysis.semantic.suggestion": "",
        f"{_OLD}.sql.query.analysis.semantic.threshold": "",
        f"{_OLD}.sql.query.response.format": "",
        f"{_OLD}.sql.query.slowlog": "plugins.sql.slowlog",
        "plugins.sql.delete.enabled": "",
        "plugins.sql.pagination.api": "",
    },
}
"""The first version whose plugins do not have a setting, its name, and what takes its place."""

DEPRECATED: Mapping[str, Mapping[str, str]] = {
    "1.0.0": {f"{_OLD}.*": "the setting of the same name that starts with plugins"},
}
"""The first version whose plugins call a setting deprecated, as `REMOVED` has it."""
