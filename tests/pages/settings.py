"""The page of the settings: the effect of a change of each, from the rules themselves."""

from __future__ import annotations

from itertools import groupby

from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.known_settings import DYNAMIC, STATIC
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.setting_rules import REGISTERED, RULES

from tests.checks.tree import ROOT

PAGE = ROOT / "docs" / "reference" / "restart-settings.md"
_HEAD = """# Settings and restarts

The playbook [restart](../restart.md#restart-or-new-pod) applies a changed setting in one of five ways, by the
most exact rule for it, your own (`upgrade_setting_needs`) before all others. This page is made by code (`make pages`).

| Way | Meaning |
|---|---|
| `dynamic` | The members take it while they run, by the settings of the cluster. |
| `rolling` | The processes restart one after the other. |
| `new_pod` | The pods are replaced one after the other. |
| `coordinated` | All processes stop before the first one starts. |
| `never` | A member with data cannot change it. |

A setting without a rule, such as one of a plugin, is `rolling`, and the plan names it; so is one that only some
versions take while they run. One that the pod sets, by a variable such as `node.attr.zone` or `ES_SETTING_…`, or by an
argument `-E…`, needs a new pod.

## Rules

Drain a member before it gives up its data. The sources are in
[the code](../../plugins/module_utils/restart/judge/setting_rules.py).

| Settings | Way | Reason |
|---|---|---|
"""
_END = """
## Settings of the servers themselves

Of {all} settings ([the list](../../plugins/module_utils/restart/judge/known_settings.py)) in the published jars of
OpenSearch 1.3.20, 2.11.1, 2.19.6 and 3.8.0 and of Elasticsearch 7.17.29 and 8.19.0, {dynamic} are `dynamic` in every
version that knows them, and {static} are `rolling`, but for those with a rule above.
"""


def page() -> str:
    """The whole page. Settings with the same effect and reason share a row."""
    own = sorted(
        (rule for rule in RULES if rule.source != REGISTERED),
        key=lambda rule: (-rule.way.rank, rule.why, rule.pattern),
    )
    rows = [
        f"| {', '.join(f'`{rule.pattern}`' for rule in rules)} | `{way.value}` | {why} |"
        for (way, why), rules in groupby(own, lambda rule: (rule.way, rule.why))
    ]
    end = _END.format(all=len(DYNAMIC | STATIC), dynamic=len(DYNAMIC), static=len(STATIC))
    return "\n".join([_HEAD + "\n".join(rows), end])
