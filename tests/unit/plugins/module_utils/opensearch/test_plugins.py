"""The plugins of members against those of an image: what is asked, what is read, and what follows."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.plugins import (
    END,
    LIST,
    PoolPlugins,
    judge_hosts,
    judge_plugins,
    listed_in,
    question_for,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.plugins import (
    Installed,
    parse_installed,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.version import Version
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.pull_pod import MESSAGE

HOME, IMAGE, NEW = "/usr/share/opensearch", "opensearch:3.8.0", Version(3, 8, 0)
ICU, KNN = "analysis-icu", "opensearch-knn"
Said = list[tuple[State, str]]


def pool(members: Mapping[str, tuple[str, ...]], **spec: Any) -> PoolPlugins:
    installed = {name: Installed(HOME, frozenset(plugins)) for name, plugins in members.items()}
    return PoolPlugins("data", installed, {"containers": [{"name": "server", **spec}]})


def said(of: PoolPlugins, there: Mapping[str, str] | None) -> Said:
    return [(reason.state, reason.code) for reason in judge_plugins(of, IMAGE, NEW, there).reasons]


HAVE_ICU = {"data-0": (ICU,), "data-1": (ICU,)}


@pytest.mark.parametrize(
    ("members", "spec", "there", "expected"),
    [
        (HAVE_ICU, {}, {ICU: "3.8.0"}, []),
        (HAVE_ICU, {}, {ICU: "3.8.0", KNN: "3.8.0"}, []),
        (HAVE_ICU, {}, {ICU: ""}, []),
        (HAVE_ICU, {}, {}, [(State.REFUSED, "plugin_missing")]),
        ({"data-0": (ICU,), "data-1": ()}, {}, {}, [(State.REFUSED, "plugin_missing")]),
        ({"data-0": (ICU, KNN)}, {}, {}, [(State.REFUSED, "plugin_missing")] * 2),
        (HAVE_ICU, {}, {ICU: "3.7.0"}, [(State.REFUSED, "plugin_of_another_version")]),
        ({"data-0": ()}, {}, {ICU: "3.7.0"}, [(State.REFUSED, "plugin_of_another_version")]),
        (HAVE_ICU, {}, None, [(State.PASSED, "plugins_unknown")]),
        ({"data-0": ()}, {}, None, []),
        ({"data-0": ()}, {}, {}, []),
        (
            HAVE_ICU,
            {"command": ["sh", "-c", "./bin/opensearch-plugin install -b analysis-icu && exec ./start"]},
            {},
            [(State.PASSED, "plugin_brought_along")],
        ),
        (
            HAVE_ICU,
            {"volumeMounts": [{"name": "plugins", "mountPath": f"{HOME}/plugins/"}]},
            {},
            [(State.PASSED, "plugin_brought_along")],
        ),
        (
            HAVE_ICU,
            {"volumeMounts": [{"name": "icu", "mountPath": f"{HOME}/plugins/{ICU}"}]},
            {},
            [(State.PASSED, "plugin_brought_along")],
        ),
        (
            HAVE_ICU,
            {"volumeMounts": [{"name": "data", "mountPath": f"{HOME}/data"}], "args": ["--plugins"]},
            {},
            [(State.REFUSED, "plugin_missing")],
        ),
    ],
)
def test_an_image_holds_what_its_members_need(
    members: Mapping[str, tuple[str, ...]], spec: dict[str, Any], there: Mapping[str, str] | None, expected: Said
) -> None:
    assert said(pool(members, **spec), there) == expected


def test_the_sentence_names_image_pool_plugin_and_members() -> None:
    (reason,) = judge_plugins(pool(HAVE_ICU), IMAGE, NEW, {}).reasons
    for word in (IMAGE, "pool data", ICU, "data-0, data-1"):
        assert word in reason.message
    assert "skip_checks: [plugins]" in reason.remedy
    (brought,) = judge_plugins(pool(HAVE_ICU, args=["opensearch-plugin install"]), IMAGE, NEW, {}).reasons
    assert "container server runs opensearch-plugin" in brought.message


def test_without_a_member_there_is_nothing_to_ask_for() -> None:
    assert question_for(pool({}), IMAGE, NEW) is None
    question = question_for(pool(HAVE_ICU), IMAGE, NEW)
    assert question is not None
    assert question.command[-1] == HOME
    assert [reason.code for reason in question.judge(f"{KNN} 3.8.0\n{END}\n").reasons] == ["plugin_missing"]
    assert [reason.code for reason in question.judge(f"{ICU} 3.8.0\n").reasons] == ["plugins_unknown"]


def listed(home: Path) -> str | None:
    """The list that the command of the pod writes about a folder, run by a real shell."""
    said = home.parent / "said"
    said.unlink(missing_ok=True)
    command = ["sh", "-c", LIST.replace(MESSAGE, str(said)), str(home)]
    done = subprocess.run(command, check=False, capture_output=True, env={"PATH": "/nowhere"}, executable="/bin/sh")
    assert done.stderr == b"" or done.returncode, done.stderr
    return said.read_text() if done.returncode == 0 else None


def test_a_shell_alone_lists_the_plugins_of_a_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert listed(home) is None
    (home / "plugins").mkdir(parents=True)
    assert listed_in(listed(home)) == {}
    for folder, lines in {
        "icu": ["# a comment", f"name={ICU}", "version=3.8.0.0", "opensearch.version=3.8.0", "java.version=11"],
        "opensearch knn": [f"name={KNN}", 'dependencies={ opensearch: "~3.0.0" }'],
        "left over": [],
    }.items():
        (home / "plugins" / folder).mkdir()
        if lines:
            (home / "plugins" / folder / "plugin-descriptor.properties").write_text("\n".join(lines))
    assert listed_in(listed(home)) == {ICU: "3.8.0", KNN: ""}


@pytest.mark.parametrize("answer", [None, "", "exec: sh: not found", f"{ICU} 3.8.0"])
def test_what_is_not_whole_is_no_list(answer: str | None) -> None:
    assert listed_in(answer) is None


def test_the_answer_of_the_members() -> None:
    home = {"path": {"home": HOME}}
    nodes = {
        "x": {"name": "data-0", "plugins": [{"name": ICU}, {"name": KNN}], "settings": home},
        "y": {"name": "data-1", "settings": home},
        "z": {"name": "data-2"},
    }
    assert parse_installed({"nodes": nodes}) == {
        "data-0": Installed(HOME, frozenset({ICU, KNN})),
        "data-1": Installed(HOME, frozenset()),
    }
    assert parse_installed({}) == {}


def test_on_hosts_the_plugins_are_named_with_those_that_only_some_have() -> None:
    assert not judge_hosts(pool({"a": ()}).installed, NEW).reasons
    (reason,) = judge_hosts(pool({"a": (ICU, KNN), "b": (ICU,)}).installed, NEW).reasons
    assert (reason.state, reason.code) == (State.PASSED, "plugins_on_hosts")
    assert f"{ICU}, {KNN}, {KNN} only on a." in reason.message
