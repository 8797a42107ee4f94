"""The registry of a release image: tokens, redirections, and invalid answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal, Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.web import Answer, NoAnswer
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe import registry as under_test
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.registry import Registry
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.release_image import ImageReference

from tests.sandbox import web
from tests.sandbox.openshift.registry import HOST, STORE, image_for_several, image_of
from tests.sandbox.openshift.registry import Registry as Played

VERSION = "4.18.2"
IMAGE = image_of(VERSION)
Change = Callable[[str, Answer], Answer]


class Changing(Played):
    """A registry whose answers may be changed on the way."""

    def __init__(self) -> None:
        super().__init__(lambda: [VERSION])
        self.change: Change = lambda _url, answer: answer

    def fetch(self, url: str, _seconds: float, _longest: int, headers: Mapping[str, str], _trust: Any) -> Answer:
        """In place of a request over the web. Raises NoAnswer."""
        parts = urlsplit(url)
        assert parts.scheme == "https"
        assert parts.hostname in (HOST, STORE)
        try:
            answer = self(web.Request("GET", parts.path, dict(parse_qsl(parts.query)), None, headers))
        except web.CutOff as error:
            raise NoAnswer(str(error)) from error
        said = {name.lower(): value for name, value in answer.headers.items()}
        return self.change(url, Answer(answer.status, answer.text, said))


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Changing:
    """A registry in memory that is asked in place of the web."""
    registry = Changing()
    monkeypatch.setattr(under_test, "fetch", registry.fetch)
    return registry


def release(image: str = IMAGE, **given: Any) -> tuple[str, str]:
    found = Registry(ImageReference.parse(image), given).release("amd64")
    return found.version, found.architecture


def refusal(kind: type[Refusal] = Refusal, image: str = IMAGE, **given: Any) -> str:
    with pytest.raises(kind) as raised:
        release(image, **given)
    assert type(raised.value) is kind or kind is Unreachable
    (reason,) = raised.value.verdict.reasons
    return f"{reason.code}: {reason.message}"


@pytest.mark.parametrize("image", [IMAGE, image_for_several(VERSION)])
@pytest.mark.parametrize("open_", [True, False])
def test_the_version_is_that_of_the_label(played: Changing, image: str, open_: bool) -> None:
    played.asks_token = played.has_store = not open_
    assert release(image) == (VERSION, "amd64")


def test_a_store_gets_no_credentials_and_the_token_is_asked_for_once(played: Changing) -> None:
    played.user = ("puller", "secret")
    assert release(username="puller", password="secret") == (VERSION, "amd64")
    paths = [each.path for each in played.asked]
    assert paths.count("/token") == 1
    assert [dict(each.query)["scope"] for each in played.asked if each.path == "/token"] == [
        "repository:ocp/release:pull"
    ]
    assert all("Authorization" not in each.headers for each in played.asked if each.path.startswith("/store/"))


def test_a_registry_that_wants_the_credentials_themselves_gets_them(played: Changing) -> None:
    played.asks_token = played.has_store = False
    refused = Answer(401, "", {"www-authenticate": 'Basic realm="registry"'})
    played.change = lambda _url, answer: answer if played.asked[-1].headers.get("Authorization") else refused
    assert release(username="puller", password="secret") == (VERSION, "amd64")
    assert "answers 401 for the manifest" in refusal()


@pytest.mark.parametrize("asked", ["", "Bearer", 'Digest realm="x"', 'Bearer realm=""'])
def test_a_registry_that_does_not_say_how_to_get_a_token_is_refused(played: Changing, asked: str) -> None:
    played.change = lambda _url, _answer: Answer(401, "", {"www-authenticate": asked})
    assert refusal().startswith("release_image_refused")


def test_nothing_is_sent_or_read_without_tls(played: Changing) -> None:
    played.change = lambda _url, answer: (
        Answer(401, "", {"www-authenticate": f'Bearer realm="http://{HOST}/token"'}) if answer.status == 401 else answer
    )
    assert "without TLS" in refusal(username="puller", password="secret")
    played.asks_token = False
    played.change = lambda _url, answer: (
        Answer(307, "", {"location": f"http://{STORE}/store/x"}) if answer.status == 307 else answer
    )
    assert f"sends to {STORE} without TLS" in refusal()


def test_an_answer_that_may_pass_is_waited_for(played: Changing) -> None:
    for status in (429, 503):
        played.status = status
        assert f"it answers {status}" in refusal(Unreachable)
    played.status = 200
    played.change = lambda url, answer: Answer(503, "") if "/token" in url else answer
    assert "its tokens cannot be had" in refusal(Unreachable)
    played.change = lambda _url, _answer: Answer(307, "", {"location": f"https://{STORE}/again"})
    assert "redirects more than 5 times" in refusal(Unreachable)
    played.away = True
    assert "gives no answer" in refusal(Unreachable)


@pytest.mark.parametrize("token", ["[]", "no JSON", '{"token": 1}'])
def test_a_token_that_cannot_be_read_is_not_understood(played: Changing, token: str) -> None:
    played.change = lambda url, answer: Answer(200, token) if "/token" in url else answer
    assert refusal(Unreachable).startswith("registry_not_understood")


def test_a_list_without_the_architecture_names_the_others(played: Changing) -> None:
    with pytest.raises(Refusal, match="is made for amd64, and the control plane is arm64"):
        Registry(ImageReference.parse(image_for_several(VERSION)), None).release("arm64")
    assert played.asked


@pytest.mark.parametrize("kind", ["manifests", "blobs"])
@pytest.mark.parametrize("content", ["[]", "no JSON", "{"])
def test_a_content_of_its_digest_that_is_no_json_is_not_understood(
    played: Changing, kind: str, content: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    played.has_store = False
    wanted = [""]
    monkeypatch.setattr(under_test, "digest_of", lambda _content: wanted[0])

    def change(url: str, answer: Answer) -> Answer:
        if "/v2/" in url:
            wanted[:] = [url.rpartition("/")[2]]
        return Answer(200, content) if kind in url else answer

    played.change = change
    assert refusal(Unreachable).startswith("registry_not_understood")


def test_an_image_without_labels_has_no_version(played: Changing) -> None:
    assert release(played.add({"architecture": "amd64"})) == ("", "amd64")
