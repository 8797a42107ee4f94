"""The looks at the target of an upgrade: its update graph and its image are asked for where they are needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...common.errors import Refusal, Unreachable, refusal
from ...common.release import Release, check_ascending, release_in
from ...common.verdict import Verdict, combine
from ...common.words import unique
from .minors import minors_between
from .registry import Registry
from .release_image import ImageReference, ReleaseImage
from .state import MULTI, ClusterVersion, OpenShift
from .target import UpgradeTarget, ahead_of
from .update_graph import UpdateGraph
from .update_service import UpdateService

FARTHEST = 8
"""The most minor versions that a chain is looked for."""


def release_of(given: object) -> Release:
    """The version that a user has named. Raises Refusal: it is none."""
    try:
        return Release.parse(str(given))
    except ValueError:
        raise refusal(
            "version_unreadable", f"{given} is not a version of OpenShift.", "Give one such as 4.18.9."
        ) from None


def through_of(params: Mapping[str, Any]) -> tuple[Release, ...]:
    """The versions on the way to the target that a user has named. Raises Refusal: one of them is none."""
    return tuple(map(release_of, params["through"]))


def chain_in(params: Mapping[str, Any]) -> list[str]:
    """The versions on the way and the target, in their order; without one that is that of an image.

    Raises:
        Refusal: one of them is no version.
    """
    target = params["target_version"]
    return [*map(str, through_of(params)), *([str(release_of(target))] if target else [])]


def check_chain(params: Mapping[str, Any]) -> None:
    """Check that the target is none of the versions on the way, as it may be for a batch alone. Raises Refusal."""
    if params["target_version"]:
        check_ascending(through_of(params), release_of(params["target_version"]))


class LookingAtTarget:
    """The looks of one task. Each graph and the image are asked for once, as soon as they can be had."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Nothing is asked yet; `params` are the options of the module.

        Raises:
            Refusal: no target is given, or one that cannot be read.
        """
        version, image = params["target_version"], params["release_image"]
        if not version and not image:
            said = "No target is given: neither target_version nor release_image."
            raise refusal("target_missing", said, "Give one of them, such as target_version=4.18.9.")
        self._channel = str(params["channel"] or "").strip()
        self._version = release_of(version) if version else None
        self.through = through_of(params)
        """The versions on the way that a user has named."""
        self._is_between = self._version in self.through
        # The image is that of the last version.
        self._image = _reference(str(image)) if image and not self._is_between else None
        self._accepted = tuple(params["accept_risks"])
        self._is_multi = params["architecture"] == MULTI
        self._service = UpdateService(params["update_service"])
        self._registry = Registry(self._image, params["registry"]) if self._image else None

    def hops(self, seen: OpenShift) -> tuple[UpgradeTarget, ...]:
        """The upgrades that are left, in their order: those to the versions on the way, then that to the target.

        What cannot be had is named by a reason in `trouble`.

        Raises:
            Unreachable: the version is that of an image, and cannot be had now.
            Refusal: the version is that of an image, and this has none; or the versions on the way are in no order.
        """
        release, metadata, trouble = self._release(seen)
        # A version on the way may be the target of a batch.
        before = tuple(each for each in self.through if each < release) if self._is_between else self.through
        check_ascending(before, release)
        found = list[UpgradeTarget]()
        for each in ahead_of(seen.version, before):
            between = UpgradeTarget(
                each, seen.version.channel, accepted=self._accepted, is_multi=self._is_multi, is_chained=True
            )
            found.append(self._asked(seen, between))
            seen = seen.after(str(each), found[-1].channel)
        named = "" if self._is_between else self._channel
        own = (self._image, metadata, self._accepted, self._is_multi, bool(self.through))
        last = UpgradeTarget(release, named or seen.version.channel, bool(named), *own, trouble=trouble)
        return (*found, self._asked(seen, last))

    def _asked(self, seen: OpenShift, target: UpgradeTarget) -> UpgradeTarget:
        """The target of one upgrade with all that has to be asked of update graphs."""
        version = seen.version
        present = release_in(version.present)
        if present is None or version.is_commenced(str(target)) or target.release <= present:
            return target
        minors = minors_between(present, target.release)
        if minors > 1:
            return self._with_chain(seen, target, present) if minors <= FARTHEST else target
        if target.is_chained and not target.is_asked_for and target.image is None:
            return self._in_channel(seen, target)
        return self._with_graph(seen, target) if self._needs_graph(version, target, minors) else target

    def _in_channel(self, seen: OpenShift, target: UpgradeTarget) -> UpgradeTarget:
        """The target in the channel that leads there: the one that the cluster has by then, if it can stay.

        Others are the one that a user has named, then those of its minor version and of the next one, such as
        `eus-4.20` for a version 4.19.
        """
        version, release = seen.version, target.release
        if target.listed(version) is not None:
            return replace(target, channel=version.channel)
        kind, _dash, _minor = (self._channel or version.channel).rpartition("-")
        of_minors = [f"{kind}-{release.major}.{minor}" for minor in (release.minor, release.minor + 1) if kind]
        names = unique(filter(None, (version.channel, self._channel, *of_minors)))
        try:
            graphs = [self._service.graph(seen, name) for name in names]
        except Refusal as error:
            return replace(target, trouble=combine((target.trouble, _verdict_of(error))))
        leading = [each for each in graphs if str(target) in each.updates(version.present)]
        safe = [each for each in leading if not each.updates(version.present)[str(target)].risks]
        wanted = self._channel or next(iter(of_minors), version.channel)
        found = next(iter((*safe, *leading)), None) or next((each for each in graphs if each.channel == wanted), None)
        return target if found is None else replace(target, channel=found.channel, graph=found)

    def _release(self, seen: OpenShift) -> tuple[Release, ReleaseImage | None, Verdict]:
        """The version, the metadata of the image, and the reasons for which these could not be had."""
        version, known = seen.version, self._version
        if self._registry is None or self._image is None:
            return release_of(known), None, Verdict()
        if version.wanted and version.wanted_image == str(self._image):
            # A run has asked for this image already, with the version that its label names.
            known = known or release_of(version.wanted)
        if known is not None and version.is_commenced(str(known)):
            return known, None, Verdict()
        try:
            metadata = self._registry.release(seen.architecture)
        except Refusal as error:
            if known is None:
                raise
            return known, None, _verdict_of(error)
        if known is None and not metadata.version:
            said = f"The image {self._image} has no label with a version of OpenShift, so it is not a release."
            raise refusal("release_image_unlabelled", said, "Give the image of a release (release_image).")
        return known or release_of(metadata.version), metadata, Verdict()

    def _needs_graph(self, version: ClusterVersion, target: UpgradeTarget, minors: int) -> bool:
        """Whether the list of the cluster does not show if it may go there.

        It is that of the present channel, and empty until the cluster version operator has retrieved that of another.
        """
        if target.changes_channel(version):
            return True
        return target.listed(version) is None and target.image is None and (minors == 1 or target.is_asked_for)

    def _with_graph(self, seen: OpenShift, target: UpgradeTarget) -> UpgradeTarget:
        try:
            return replace(target, graph=self._service.graph(seen, target.channel))
        except Refusal as error:
            return replace(target, trouble=combine((target.trouble, _verdict_of(error))))

    def _with_chain(self, seen: OpenShift, target: UpgradeTarget, present: Release) -> UpgradeTarget:
        kind, _dash, _minor = target.channel.rpartition("-")
        minors = range(present.minor, target.release.minor + 1)
        graphs = list[UpdateGraph]()
        try:
            for minor in minors if kind else ():
                graphs.append(self._service.graph(seen, f"{kind}-{present.major}.{minor}"))
        except Refusal as error:
            return replace(target, without_chain=error.verdict.reasons[0].message)
        return replace(target, chain=tuple(graphs))


def _reference(given: str) -> ImageReference:
    try:
        return ImageReference.parse(given)
    except ValueError:
        raise refusal(
            "release_image_unusable",
            f"{given} names no release image by digest: it must have the form registry/namespace/name@sha256:….",
            "Give the digest that oc adm release info shows, since a tag may lead to another image tomorrow.",
        ) from None


def _verdict_of(error: Refusal) -> Verdict:
    return error.as_waiting() if isinstance(error, Unreachable) else error.verdict
