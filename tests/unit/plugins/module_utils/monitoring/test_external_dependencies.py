"""Things outside the cluster are asked as they are, and all that are not available are named."""

from __future__ import annotations

import json
import socket
from threading import Event
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.monitoring import external_dependencies
from ansible_collections.stateful.upgrade.plugins.module_utils.monitoring.addresses import (
    dependencies_in,
    fault_of_status,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.common.answering import answering
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.stores import Passing

Json = dict[str, Any]


def ask(*wanted: str, **given: Any) -> Json:
    params = external_dependencies.CONTRACT.arguments({}, dependencies=list(wanted), timeout=5, **given)
    return perform(external_dependencies.run, Task(params=params, clock=Passing()))


def test_all_that_are_not_available_are_named_and_the_others_are_not() -> None:
    # Of a socket that does not listen the port is no other server's, and refuses connections.
    with socket.socket() as free, answering() as page, answering() as moved, answering() as gone:
        free.bind(("127.0.0.1", 0))
        closed = free.getsockname()[1]
        page.say(200, "")
        moved.say(302, "")
        gone.say(404, "")
        there = (page.url, moved.url, page.url.replace("http", "tcp"), "dns://localhost")
        away = (gone.url, f"tcp://127.0.0.1:{closed}", "dns://no-such-name.invalid")
        result = ask(*there, *away, wait=False)
        assert ask(*there)["verdict"] == {"state": "passed", "reasons": []}
    assert (result["verdict"]["state"], result["unavailable"]) == ("waiting", list(away))
    assert "it answers 404" in result["verdict"]["reasons"][0]["message"]


def test_a_resolver_that_does_not_answer_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve, silent = socket.getaddrinfo, Event()

    def hanging(host: str, *rest: Any, **named: Any) -> Any:
        return silent.wait(60) if host.endswith(".hangs") else resolve(host, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", hanging)
    with answering() as page:
        page.say(200, "")
        # More than are asked at the same time, of each kind that looks a name up.
        names = [f"dns://{number}.hangs" for number in range(8)]
        wanted = dependencies_in([*names, "tcp://a.hangs:1", "https://a.hangs/", page.url, "dns://localhost"])
        causes = [cause for _each, cause in external_dependencies.causes_of(wanted, 2)]
    silent.set()
    assert causes == [*["there was no answer within 2 s"] * 10, "", ""]


def test_a_name_that_cannot_be_looked_up_is_not_available() -> None:
    ((_long, cause),) = external_dependencies.causes_of(dependencies_in([f"dns://{'a' * 70}.example"]), 5)
    assert cause == "its name is none that can be looked up"


def test_one_that_comes_is_waited_for_and_one_that_does_not_is_refused() -> None:
    with answering() as soon, answering() as never:
        soon.say(404, "")
        soon.say(200, "")
        never.say(403, "")
        assert ask(soon.url)["verdict"]["state"] == "passed"
        late = ask(f"{never.url}/403?key=Never-Told", wait_timeout=20)
    assert late["failed"]
    assert "/403 is not available: it answers 403." in late["msg"]
    assert "Never-Told" not in json.dumps({**late, "invocation": {}})


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("registry.example.com", "its kind is not known"),
        ("ftp://a", "its kind is not known"),
        ("tcp://a", "it names no port"),
        ("dns://", "it names no host"),
        ("dns://a/b", "it has more than a host and a port"),
        ("https://me:secret@a", "it holds a user name"),
    ],
)
def test_what_is_no_dependency_is_refused(text: str, cause: str) -> None:
    with pytest.raises(Refusal, match=cause):
        dependencies_in([text, "dns://good"])


def test_a_registry_that_wants_a_login_is_available() -> None:
    (registry,) = dependencies_in(["registry://registry.example.com:5000"])
    assert registry.url == "https://registry.example.com:5000/v2/"
    assert (fault_of_status(registry, 401), fault_of_status(registry, 404)) == ("", "it answers 404")
    (page,) = dependencies_in(["https://registry.example.com/"])
    assert fault_of_status(page, 401) == "it answers 401"
