"""The checks of the gates by name: the moments at which each is made, its codes, and whether it can be skipped. Pure.

Their judgement is in `gates`; docs/gates.md explains them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from ...common.verdict import Reason, as_verdict, refused, remark

BEFORE_UPGRADE, BEFORE_BATCH, AFTER_BATCH, AFTER_UPGRADE = MOMENTS = (
    "before_upgrade",
    "before_batch",
    "after_batch",
    "after_upgrade",
)


@dataclass(frozen=True)
class Check:
    """One thing that a gate looks at.

    `moments` are those at which it is made unless it is skipped, `on_request` those at which it is made if it is added.
    A check that belongs to the proof that nothing is lost is never skipped.
    """

    name: str
    moments: tuple[str, ...]
    codes: tuple[str, ...]
    """The codes of all its reasons."""
    on_request: tuple[str, ...] = ()
    proof: bool = False
    in_gate: bool = True
    """Whether a look of the gate judges it. Otherwise another part of the plan does."""


IMAGES = "images"
"""The check that the new images can be pulled. Consent does not cover whether it was made: an image that cannot be
pulled stops the run at its first member in any case."""

_BEFORE = (BEFORE_UPGRADE, BEFORE_BATCH)
_AFTER = (AFTER_BATCH, AFTER_UPGRADE)

CHECKS: tuple[Check, ...] = (
    Check("blocks", MOMENTS, ("cluster_block",), proof=True),
    Check("pending_tasks", MOMENTS, ("tasks_pending",)),
    Check(
        "present",
        (*_BEFORE, AFTER_BATCH),
        ("member_missing", "member_to_be_removed", "member_unrecognised", "zone_decommissioned"),
        proof=True,
    ),
    Check(
        "versions",
        (BEFORE_UPGRADE,),
        (
            "downgrade",
            "elasticsearch",
            "index_too_old",
            "index_version_unknown",
            "major_unknown",
            "majors_skipped",
            "released_before",
            "remote_store_format",
            "remote_store_migration",
            "wire_incompatible",
        ),
        proof=True,
    ),
    Check("joined", _AFTER, ("not_joined", "wrong_version"), proof=True),
    Check("copies", _BEFORE, ("every_copy_in_batch", "last_started_copy", "single_copy", "writes_wait"), proof=True),
    Check("recoveries", (BEFORE_BATCH,), ("recovery_running",), proof=True),
    Check(
        "voting",
        _BEFORE,
        ("no_electable_manager", "no_majority", "only_voter_hands_over", "voting_exclusions"),
        proof=True,
    ),
    Check(
        "elected",
        (BEFORE_BATCH,),
        ("elected_manager_hands_over", "elected_manager_not_alone", "no_elected_manager"),
        proof=True,
    ),
    Check("roles", (BEFORE_BATCH,), ("role_in_batch", "role_unserved"), proof=True),
    Check("primaries", MOMENTS, ("primary_unassigned",), proof=True),
    Check(
        "unassigned", MOMENTS, ("allocation_failed", "unassigned", "unassigned_until_grown", "yellow_until_upgraded")
    ),
    Check("progress", _AFTER, ("allocating", "not_green", "recovering"), on_request=_BEFORE),
    Check(
        "allocation",
        (BEFORE_UPGRADE,),
        ("allocation_disabled", "members_excluded", "recoveries_disabled", "recoveries_slow"),
    ),
    Check(
        "overrides",
        (BEFORE_UPGRADE,),
        ("index_allocation_disabled", "replicas_filtered"),
        on_request=(BEFORE_BATCH, *_AFTER),
    ),
    Check("disk", (BEFORE_UPGRADE,), ("disk_after_loss", "disk_watermark"), on_request=(BEFORE_BATCH, *_AFTER)),
    Check("snapshots", _BEFORE, ("snapshot_running",)),
    Check("tasks", _BEFORE, ("long_task",)),
    Check(
        "index_management",
        (BEFORE_UPGRADE,),
        ("index_action_failed", "index_action_running", "index_action_short", "index_management_unread"),
        on_request=(BEFORE_BATCH,),
    ),
    Check("archived", (BEFORE_UPGRADE,), ("archived_setting_found",)),
    Check(
        "settings",
        (BEFORE_UPGRADE,),
        (
            "cluster_setting_removed",
            "index_setting_archived",
            "index_setting_removed",
            "setting_deprecated",
            "setting_removed",
            "settings_unknown",
        ),
    ),
    Check("search_role", (BEFORE_UPGRADE,), ("search_role_changed",)),
    Check("certificates", (BEFORE_UPGRADE,), ("certificate_ends",)),
    Check(
        "last_snapshot",
        (BEFORE_UPGRADE,),
        ("last_snapshot", "last_snapshot_unknown", "no_snapshot", "snapshot_too_old"),
    ),
    Check(
        "plugins",
        (BEFORE_UPGRADE,),
        (
            "demo_password_missing",
            "plugin_brought_along",
            "plugin_missing",
            "plugin_of_another_version",
            "plugins_on_hosts",
            "plugins_unknown",
        ),
        in_gate=False,
    ),
    Check(
        IMAGES,
        (BEFORE_UPGRADE,),
        (
            "image_looked_into",
            "image_not_proven",
            "image_not_pulled",
            "image_not_usable",
            "image_pull_unschedulable",
            "image_pulling",
        ),
        in_gate=False,
    ),
)
"""All checks, in the order of their reasons."""

SKIPPABLE = tuple(check.name for check in CHECKS if check.moments and not check.proof)
ADDABLE = tuple(check.name for check in CHECKS if check.on_request)


@dataclass(frozen=True)
class Selection:
    """The checks that the user leaves out of the gates, and adds to them, by name."""

    skipped: frozenset[str] = frozenset()
    added: frozenset[str] = frozenset()

    def at(self, moment: str) -> frozenset[str]:
        """The names of the checks that are made at a moment."""
        return frozenset(
            check.name
            for check in CHECKS
            if (moment in check.moments and (check.proof or check.name not in self.skipped))
            or (moment in check.on_request and check.name in self.added)
        )

    @as_verdict
    def said(self, moment: str) -> Iterator[Reason]:
        """A remark for each check that was skipped at a moment, for the report."""
        where, what = moment.split("_")
        for check in CHECKS:
            if check.name in self.skipped and moment in check.moments and not check.proof:
                text = f"The check {check.name} was not made {where} the {what} (skip_checks)."
                yield remark("check_skipped", text)


@as_verdict
def judge_selection(skipped: Collection[str], added: Collection[str]) -> Iterator[Reason]:
    """Whether no part of the proof is to be skipped, and no check to be both skipped and added."""
    of_proof = [check.name for check in CHECKS if check.proof and check.name in skipped]
    if of_proof:
        yield refused(
            "check_is_proof",
            f"These checks cannot be skipped: {', '.join(of_proof)}. They are the proof that nothing is lost.",
            f"Take them out of skip_checks. These can be skipped: {', '.join(SKIPPABLE)}.",
        )
    both = sorted(set(skipped) & set(added))
    if both:
        yield refused(
            "check_skipped_and_added",
            f"These checks are both to be skipped and to be added: {', '.join(both)}.",
            "Take them out of skip_checks or out of add_checks.",
        )
