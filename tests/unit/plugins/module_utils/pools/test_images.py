# SPDX-License-Identifier: GPL-3.0-or-later
"""Containers and images of a pool."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.images import container_for, name_of, with_tag

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


@pytest.mark.parametrize("image", [f"opensearch@{DIGEST}", f"mirror:5000/opensearch:2.19.6@{DIGEST}"])
def test_a_pinned_image_has_no_other_version(image: str) -> None:
    with pytest.raises(Refusal) as caught:
        with_tag(image, "3.8.0")
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
