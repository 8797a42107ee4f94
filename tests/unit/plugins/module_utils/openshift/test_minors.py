"""Minor versions of OpenShift, also over the end of a major version."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.release import Release
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.minors import (
    FAR,
    kubernetes_minor,
    minors_between,
    next_minor,
)


@pytest.mark.parametrize(("release", "minor"), [("4.18.2", 31), ("4.23.0", 36), ("5.0.1", 36), ("5.2.0", 38)])
def test_the_version_of_kubernetes_follows_from_that_of_openshift(release: str, minor: int) -> None:
    assert kubernetes_minor(Release.parse(release)) == minor


@pytest.mark.parametrize(
    ("present", "target", "minors", "first"),
    [
        ("4.18.2", "4.18.3", 0, "4.19"),
        ("4.18.2", "4.20.0", 2, "4.19"),
        ("4.21.2", "5.0.0", 2, "4.22"),
        ("4.22.2", "5.0.0", 1, "5.0"),
        ("4.23.2", "5.0.4", 1, "5.0"),
        ("4.23.2", "5.1.0", FAR, "5.0"),
        # Kubernetes 1.37 leads to no 1.36.
        ("4.24.2", "5.0.4", FAR, "4.25"),
        ("5.0.1", "5.1.0", 1, "5.1"),
        ("5.0.1", "6.0.0", FAR, "5.1"),
        ("3.11.0", "4.1.0", FAR, "3.12"),
    ],
)
def test_the_first_minor_version_of_5_follows_on_the_last_ones_of_4(
    present: str, target: str, minors: int, first: str
) -> None:
    before, after = Release.parse(present), Release.parse(target)
    assert (minors_between(before, after), next_minor(before, after)) == (minors, first)
