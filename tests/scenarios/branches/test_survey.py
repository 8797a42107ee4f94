"""A whole upgrade with the answers of a survey: each is a text under a flat name, and some questions have no answer."""

from __future__ import annotations

from collections.abc import Mapping

from tests.scenarios.cluster import USER
from tests.scenarios.interruptions import UpgradeRuns
from tests.scenarios.playbook import upgrade
from tests.scenarios.preconditions import POOL

SECRET = "Never-To-Be-Seen-4711"
UNANSWERED = dict.fromkeys(
    (
        "upgrade_add_checks",
        "upgrade_allow_field_managers",
        "upgrade_batch_timeout",
        "upgrade_batching",
        "upgrade_confirm",
        "upgrade_ephemeral",
        "upgrade_gate_timeout",
        "upgrade_image",
        "upgrade_label_selector",
        "upgrade_lock_kept_in",
        "upgrade_max_unavailable",
        "upgrade_member_timeout",
        "upgrade_opensearch_ca_cert",
        "upgrade_opensearch_proxy",
        "upgrade_opensearch_validate_certs",
        "upgrade_record_kept_in",
        "upgrade_take_over",
    ),
    "",
)


def test_the_answers_of_a_survey_upgrade_a_cluster(
    upgrade_runs: UpgradeRuns, ansible_environment: Mapping[str, str]
) -> None:
    cluster = upgrade_runs.cluster
    answers = {
        **UNANSWERED,
        "target_version": "3.8.0",
        "upgrade_namespace": cluster.namespace,
        "upgrade_kubernetes_kubeconfig": str(cluster.platform.kubeconfig(USER)),
        "upgrade_kubernetes_request_timeout": "20",
        "upgrade_opensearch_hosts": f"{cluster.url}, {cluster.url}",
        "upgrade_opensearch_username": "upgrade",
        "upgrade_opensearch_password": SECRET,
        "upgrade_members": ", ".join(f"{POOL}-{ordinal}" for ordinal in range(3)),
        "upgrade_pools": POOL,
        "upgrade_recoveries": "0",
        "upgrade_skip_checks": "images, overrides",
        "upgrade_wait": "true",
    }
    played = upgrade(answers, ansible_environment, "-vvv", "--diff")
    print(played.output)
    assert played.code == 0, played.message
    cluster.is_upgraded("3.8.0")
    assert upgrade_runs.left_behind() == {}
    assert SECRET not in played.output
