"""Lists that are too long for one answer: they come in pages, and start anew if the server forgets their version."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes import client

from tests.sandbox.kubernetes.in_process import InProcess

MAPS = "/api/v1/namespaces/search/configmaps"


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> InProcess:
    monkeypatch.setattr(client, "PAGE", 3)
    api = InProcess()
    for number in range(8):
        api.put_there(f"{MAPS}/map-{number}", {"metadata": {"labels": {"half": str(number % 2)}}})
    return api


def names(api: InProcess, selector: str | None = None) -> list[str]:
    return [each["metadata"]["name"] for each in api.client().list(MAPS, selector)]


def lists(api: InProcess) -> int:
    return sum(method == "GET" for method, _path in api.asked)


def test_all_pages_are_read(api: InProcess) -> None:
    assert names(api) == [f"map-{number}" for number in range(8)]
    assert lists(api) == 3
    assert names(api, "half=0") == ["map-0", "map-2", "map-4", "map-6"]
    assert lists(api) == 5


def test_all_pages_are_of_one_moment(api: InProcess) -> None:
    def another_comes_and_one_goes() -> None:
        api.put_there(f"{MAPS}/map-9", {"metadata": {}})
        del api.objects[f"{MAPS}/map-7"]

    api.before += [lambda: None, another_comes_and_one_goes]
    assert names(api)[-1] == "map-7"
    assert names(api)[-2:] == ["map-6", "map-9"]


def forget(api: InProcess) -> None:
    """Something changes, and the server forgets all that was before."""
    api.put_there(f"{MAPS}/map-0", {"metadata": {}})
    api.server.store.compact()


def test_a_list_whose_moment_is_forgotten_begins_anew(api: InProcess) -> None:
    api.before += [lambda: None, lambda: forget(api)]
    assert names(api) == [f"map-{number}" for number in range(8)]
    assert lists(api) == 5, "two pages of the first attempt"


def test_a_list_that_is_forgotten_again_and_again_is_an_outage(api: InProcess) -> None:
    api.before += [step for _attempt in range(20) for step in (lambda: None, lambda: forget(api))]
    with pytest.raises(Unreachable, match="forgot its answer to list configmaps in namespace search"):
        names(api)
    assert lists(api) == 10
