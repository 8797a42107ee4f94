"""Containers and images of a pool."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.images import (
    container_for,
    derived,
    name_of,
    with_tag,
)

DIGEST = "sha256:0123456789abcdef"


@pytest.mark.parametrize(
    ("images", "named", "container"),
    [
        ({"main": "company/search:7"}, None, "main"),
        ({"main": "opensearch:2.19.6", "shipper": "logs/fluent:4"}, None, "main"),
        ({"main": "mirror:5000/os/opensearch:2.19.6", "shipper": "fluent"}, None, "main"),
        ({"main": f"os/opensearch@{DIGEST}", "shipper": "fluent"}, None, "main"),
        ({"main": "os/opensearch", "metrics": "prom/opensearch-exporter:1"}, None, "main"),
        ({"main": "os/opensearch:2", "ui": "os/opensearch-dashboards:2"}, None, "main"),
        ({"opensearch": "company/search:7", "metrics": "prom/opensearch-exporter:1"}, None, "opensearch"),
        ({"one": "opensearch:2", "two": "opensearch:2"}, "two", "two"),
        ({"one": "opensearch:2", "sidecar": "fluent"}, "sidecar", "sidecar"),
    ],
)
def test_the_container_that_runs_the_server(images: Mapping[str, str], named: str | None, container: str) -> None:
    assert container_for("data", images, named, "opensearch") == container


@pytest.mark.parametrize(
    ("images", "named", "code"),
    [
        ({"one": "opensearch:2", "two": "opensearch:2"}, None, "container_unclear"),
        ({"main": "company/search:7", "metrics": "prom/opensearch-exporter:1"}, None, "container_unclear"),
        ({"main": "company/search:7", "shipper": "fluent"}, None, "container_unclear"),
        ({"opensearch-ns": "company/search", "shipper": "opensearch/fluent"}, None, "container_unclear"),
        ({"main": "opensearch:2"}, "server", "container_unknown"),
        ({}, None, "container_unclear"),
    ],
)
def test_what_is_not_clear_is_not_guessed(images: Mapping[str, str], named: str | None, code: str) -> None:
    with pytest.raises(Refusal) as caught:
        container_for("data", images, named, "opensearch")
    (reason,) = caught.value.verdict.reasons
    assert reason.code == code
    assert "data" in reason.message
    assert all(name in reason.message for name in images)


@pytest.mark.parametrize(
    ("image", "target"),
    [
        ("opensearch", "opensearch:3.8.0"),
        ("opensearch:2.19.6", "opensearch:3.8.0"),
        ("os/opensearch:latest", "os/opensearch:3.8.0"),
        ("mirror:5000/os/opensearch", "mirror:5000/os/opensearch:3.8.0"),
        ("mirror:5000/os/opensearch:2.19.6", "mirror:5000/os/opensearch:3.8.0"),
        ("mirror:5000/opensearch", "mirror:5000/opensearch:3.8.0"),
    ],
)
def test_the_image_of_another_version(image: str, target: str) -> None:
    assert with_tag(image, "3.8.0") == target


OLD, NEW = "2.19.6", "3.8.0"


@pytest.mark.parametrize(
    ("image", "running", "expected"),
    [
        ("opensearch", [], "opensearch:3.8.0"),
        ("opensearch:latest", [("opensearch:latest", OLD)], "opensearch:3.8.0"),
        ("opensearch:2.19.6", [("opensearch:2.19.6", OLD)], "opensearch:3.8.0"),
        ("opensearch:2", [("opensearch:2", OLD)], "opensearch:3.8.0"),
        ("os/opensearch:v2.19.6", [("os/opensearch:v2.19.6", OLD)], "os/opensearch:v3.8.0"),
        ("opensearch:2.19.6-fips", [("opensearch:2.19.6-fips", OLD)], "opensearch:3.8.0-fips"),
        ("mirror:5000/os:v2.19.6-fips", [], "mirror:5000/os:v3.8.0-fips"),
        # The template is of the version already, and some members are.
        ("opensearch:3.8.0-fips", [("opensearch:2.19.6-fips", OLD)], "opensearch:3.8.0-fips"),
        ("opensearch:3.8.0-2", [("opensearch:3.8.0-2", NEW), ("opensearch:2.19.6", OLD)], "opensearch:3.8.0-2"),
        # A member that runs the version is an example.
        ("opensearch:3.8.0-missing", [("opensearch:3.8.0", NEW), ("opensearch:2.19.6", OLD)], "opensearch:3.8.0"),
        ("opensearch:3.8.0", [("opensearch:3.8.0-fips", NEW)], "opensearch:3.8.0-fips"),
        # A tag that does not show the version of its member is not one.
        ("opensearch:3.8.0", [("opensearch:2.19.6-own", "2.19.1")], "opensearch:3.8.0"),
    ],
)
def test_the_kind_of_an_image_stays(image: str, running: list[tuple[str, str]], expected: str) -> None:
    assert derived(image, running, NEW) == expected


@pytest.mark.parametrize(
    ("image", "running", "why"),
    [
        ("opensearch:2.19.6-2", [("opensearch:2.19.6-2", OLD)], "-2 may belong to 2.19.6 alone"),
        ("opensearch:2.19.6-debian-12-r4", [], "-debian-12-r4 may belong to 2.19.6 alone"),
        ("opensearch:2.19.6-SNAPSHOT", [], "-SNAPSHOT may belong to 2.19.6 alone"),
        ("opensearch:prod-fips", [], "its tag does not begin with a version"),
        ("opensearch:3.8.0-fips", [("opensearch:2.19.6", OLD)], "no member runs an image of this kind (…-fips)"),
        (
            "opensearch:3.8.0-a",
            [("opensearch:3.8.0-b", NEW), ("opensearch:3.8.0-c", NEW)],
            "no member runs an image of this kind (…-a)",
        ),
    ],
)
def test_an_image_whose_kind_is_not_clear_is_refused(image: str, running: list[tuple[str, str]], why: str) -> None:
    with pytest.raises(Refusal) as caught:
        derived(image, running, NEW)
    (reason,) = caught.value.verdict.reasons
    assert reason.code == "image_tag_unclear"
    assert image in reason.message
    assert reason.message.endswith(f"{why}.")
    assert "upgrade_image" in reason.remedy


@pytest.mark.parametrize("image", [f"opensearch@{DIGEST}", f"mirror:5000/opensearch:2.19.6@{DIGEST}"])
def test_a_pinned_image_has_no_other_version(image: str) -> None:
    with pytest.raises(Refusal) as caught:
        derived(image, [], "3.8.0")
    (reason,) = caught.value.verdict.reasons
    assert reason.code == "image_pinned"
    assert image in reason.message


@pytest.mark.parametrize(
    "image",
    [
        "opensearch",
        "opensearch:3.8.0",
        "mirror:5000/os/opensearch",
        "mirror:5000/os/opensearch:3.8.0",
        "os/opensearch@sha256:abc",
        "os/opensearch:3.8.0@sha256:abc",
    ],
)
def test_the_name_of_an_image(image: str) -> None:
    assert name_of(image) == "opensearch"
