"""The options that several modules of OpenSearch share."""

from __future__ import annotations


class ModuleDocFragment:
    """The options of a plan, of an upgrade (`pool_order`), a run (`OPTIONS_OF_RUN`), a batch (`OF_BATCH`), consents,
    checks of the gates (`SELECTION`), and those of `RESTRICTING`."""

    PLAN = r"""
options:
  namespace:
    description: The namespace of the cluster's pods. Either this or O(groups) is given.
    type: str
  groups:
    description:
      - The pools of a cluster whose members are not pods. The keys name the pools, such as groups of the inventory;
        each value is the list of the names (C(node.name)) of its members. Either this or O(namespace) is given.
      - Kubernetes is not asked then, and the options about pods have no effect.
      - A pool with members of different kinds is planned as one pool for each kind.
    type: dict
    default: {}
  pools:
    description:
      - Names of the StatefulSets that are the pools of the cluster.
      - The default is the StatefulSets of the namespace (and O(label_selector)) whose pods are members of the cluster.
    type: list
    elements: str
    default: []
  label_selector:
    description: Consider only StatefulSets with these labels.
    type: str
  members:
    description:
      - Take only these members in this run. The default is all that are not on the target version; in a restart, all
        that are to be restarted.
    type: list
    elements: str
    default: []
  container:
    description:
      - The container that runs OpenSearch.
      - The default is the only one, or the only one whose image is called opensearch.
    type: str
  order:
    description:
      - Names of pools in the order in which they go, such as V([cold, warm, hot]) for the coldest tier first. An
        asterisk stands for any characters. V([temp=cold, temp=warm]) names the pools whose members all have that node
        attribute. Pools that are not named go after them.
      - It holds among pools of one kind, which is data without manager, data with manager, and the rest. An order that
        breaks the order of the kinds is refused. The pool with the elected manager is the last of
        its kind in any case, which a remark says.
      - Only with O(batching=serial).
    type: list
    elements: str
    default: []
  batching:
    description:
      - The members that go down together. V(serial) takes one member at a time, pool after pool. V(zones) takes members
        of one zone together. V(disjoint) takes any members together, in as few batches as it finds. V(node)
        takes members of one machine together, which is their Kubernetes node, or the address of their host. If the
        proof does not hold for all of them, the reason of the later batch says why. The members of its machine go
        with a canary.
      - With V(zones), V(disjoint) and V(node) members of several pools share a batch, so that managers are upgraded
        with data members and not after all of them.
      - In each batch every shard keeps a copy elsewhere, every pool a member, and every voting configuration its
        majority. A member that is not in the cluster goes first, and alone.
      - The elected manager goes last. It shares its batch only if it can hand over first, which needs a majority of
        voting members outside the batch.
    type: str
    choices: [serial, zones, disjoint, node]
    default: serial
  zone_attribute:
    description: The node attribute that names the zone of a member.
    type: str
    default: zone
  max_unavailable:
    description:
      - The most members of a pool that go down together, as a number or as a percentage of the pool. A percentage is
        rounded down, but never below one member.
    type: str
  hand_over:
    description:
      - Whether an elected manager will hand over to another one before its batch goes down. For a member that is a pod
        M(stateful.upgrade.pod_ondelete_roll) or M(stateful.upgrade.process_restart) does it, for any other
        M(stateful.upgrade.cluster_health_gate). Without a hand-over a cluster of two manager-eligible members has
        no manager while the elected one restarts, and the plan asks for O(allow_quorum_loss).
    type: bool
    default: true
  raise_replicas:
    description:
      - Names and patterns of indices that get one replica for the time of the run if they have none and a shard of them
        is on a member that goes; V(true) is every index. The plan is then made as if they had it. An index that cannot
        get one is refused with its cause, unless O(allow_single_copy) covers it.
      - A run makes the replicas before its first batch, and waits for them. The cluster keeps the former numbers in
        the setting C(cluster.metadata.stateful_upgrade.replicas), and M(stateful.upgrade.shard_allocation) puts them
        back.
    type: list
    elements: str
    default: []
"""

    UPGRADE = r"""
options:
  target_version:
    description:
      - The version to upgrade to.
      - Members that run it already are replaced if the pod template of their StatefulSet has changed since.
    type: str
    required: true
  image:
    description:
      - The whole image of the target version, for all pools.
      - For an image of its own for each pool, a mapping of pool to image, or a text such as V(hot=IMAGE,warm=IMAGE). An
        asterisk in the name of a pool stands for any characters. A name that no pool has is refused.
      - The default, also for a pool that is not named, is the repository of its present image with
        O(target_version) as its tag. A leading v and an ending such as V(-fips) stay; an ending that may belong to
        a single version, such as V(-2), is refused.
      - If all members of a pool run that version, its present image stays if its tag, or a member, shows that it holds
        it.
    type: raw
  canary:
    description:
      - The member that goes first and alone, by its name, or by a node attribute, as V(canary=true). Of several members
        with that attribute it is the first one in the order.
      - A member of a pool that is rolled by partition goes by its ordinal, and is refused as a canary.
    type: str
  extra_member:
    description:
      - The pool that has one member more during the upgrade. The
        plan says whether that is possible.
    type: str
  snapshot:
    description:
      - The repository in which the run takes a snapshot before its first batch. The plan says whether that is
        possible. It is waited for and proven, and it is the only way back from the upgrade.
      - The record of the upgrade names it, so the run after a killed one finds it, and takes no other one.
    type: str
  snapshot_indices:
    description:
      - The names and patterns of the indices in that snapshot. The global state is in it, too.
    type: list
    elements: str
    default: ['*']
  snapshot_keep:
    description:
      - The number of whole snapshots of upgrades of this cluster that are kept, the new one included. Older ones of
        upgrades, and those that are not whole, are removed once the new one is proven. V(0) keeps all.
    type: int
    default: 0
  strategy:
    description:
      - The update strategy under which a StatefulSet is rolled. V(OnDelete) is set for the roll, and the former
        strategy is put back.
      - With V(RollingUpdate) a pool that has this strategy keeps it. Its partition is set above all pods together with
        the new image, lowered for one member after the other, and put back at the end. Its members, even the elected
        manager, then go one at a time in the order of their ordinals.
    type: str
    choices: [OnDelete, RollingUpdate]
    default: OnDelete
  allow_left_behind:
    description:
      - Consent to a plan of a new major version that leaves out a member which could not join again after a stop. The
        servers let no member join that is older than all others, or older than an index. New indices get the lowest
        version of the members that hold data or can be elected. A container that restarts keeps the image of its pod,
        also where its pool has a newer one.
    type: bool
    default: false
  allow_field_managers:
    description:
      - Continue although one of these also manages the image or the update strategy of a pool. It may put the old image
        back.
    type: list
    elements: str
    default: []
    choices: [argocd, flux, configsync, kapp, gardener, crossplane, kubevela, k3s, fleet, terraform, pulumi, helm]
"""

    RUN = r"""
options:
  recoveries:
    description: The shards that a member may recover at a time during the run, for the words of the plan.
    type: int
    default: 10
  archived:
    description: With O(state=begun), the fate of archived settings, see M(stateful.upgrade.shard_allocation).
    type: str
    choices: [remove, refuse]
    default: remove
"""

    BATCH = r"""
options:
  pools:
    description:
      - Names of the StatefulSets that the members of the batch belong to; one is enough for a batch of one pool.
      - Nothing is taken down while a pod of one of these pools is down, except pods of O(batch).
    type: list
    elements: str
    required: true
    aliases: [pool]
  batch:
    description: Names of the pods whose members go down together. Each belongs to one of O(pools).
    type: list
    elements: str
    required: true
  expected:
    description:
      - Names of all members that should be in the cluster. Nothing is taken down while one of them is missing, except
        those in O(batch).
    type: list
    elements: str
    default: []
  proof_timeout:
    description:
      - Seconds to wait for the proof before anything goes down. When they are over, a task with a gate for the rest of
        its batch starts again there. Any other task ends with the verdict V(waiting) and without a failure. The caller
        can then change what keeps the proof from holding, such as restricted allocation. By default O(wait_timeout) is
        the limit of this wait, too.
      - Only time in which the cluster answers counts. For a cluster that does not answer, O(wait_timeout) is the limit.
    type: int
  hand_over:
    description:
      - Whether the elected manager hands over to another one before it goes down. If not, it goes as it is, and only
        alone. If it alone votes, it then goes only with O(allow_quorum_loss).
    type: bool
    default: true
  until:
    description:
      - V(ready) follows each member until its pod is Ready and it has joined the cluster.
      - V(joined) follows each member only until the cluster lists it, as another process than before and on the target
        version, if there is one. Its shards can come back before. Call again with V(ready) to see the pods Ready.
    type: str
    choices: [ready, joined]
    default: ready
  raise_replicas:
    description:
      - Names and patterns of indices to which the run gives a replica if they have none. In check mode
        the proof is made as if they had it already.
    type: list
    elements: str
    default: []
  usual_seconds:
    description: Seconds that members are usually away. Live lines say so, and name the cause after twice as long.
    type: float
"""

    CONSENT = r"""
options:
  allow_single_copy:
    description:
      - Names of indices of which a shard with a single configured copy may be away while its member restarts.
        V(true) is consent for every index.
      - An asterisk stands for any characters, and a name after a minus is excluded again, as in
        V([logs-*, -logs-keep]). V(*) covers hidden indices and those that begin with a dot, too. The plan names the
        indices that are covered.
    type: list
    elements: str
    default: []
  allow_quorum_loss:
    description:
      - Consent to a cluster without a manager while the only member that can be elected restarts, or the elected one
        of two that cannot hand over to the other.
    type: bool
    default: false
  allow_red_indices:
    description:
      - Names of indices whose shards may be missing. A lost primary of these, and a replica without a place, are not
        waited for. The last copy of a shard may be away while its member restarts. It may also be lost, with a member
        that is away and keeps no data over a restart.
      - The names may have patterns as those of O(allow_single_copy), and V(true) is every index.
    type: list
    elements: str
    default: []
"""

    CHECKS = r"""
options:
  skip_checks:
    description:
      - Checks that are left out. The verdict has a remark for each that would have been made.
      - A check that belongs to the proof that nothing is lost cannot be skipped, and is not among the choices.
      - Each check is described in C(docs/gates.md).
    type: list
    elements: str
    default: []
    choices: [pending_tasks, unassigned, progress, allocation, overrides, disk, snapshots, tasks, index_management,
      archived, settings, search_role, certificates, last_snapshot, plugins, images]
  snapshot_age:
    description:
      - The greatest age of the last successful snapshot before the upgrade, such as V(24h). An older one is
        refused, and so is a missing one. By default the verdict only names the last snapshot.
    type: str
  add_checks:
    description:
      - Checks to make also at the moments at which they are made only on request.
      - V(progress) waits before the upgrade, and before each batch, until no shard is under way. V(disk) and
        V(overrides) are made before and after each batch too, V(index_management) before each batch.
    type: list
    elements: str
    default: []
    choices: [progress, overrides, disk, index_management]
"""

    IN_PARTS = r"""
options:
  gate:
    description:
      - The gate at which the rest of O(batch) waits, if only a part of it went, or if the proof did not hold
        immediately before it would have gone. Allocation is put back first. The gate is that of C(before_batch) in
        M(stateful.upgrade.cluster_health_gate), whose checks are chosen with O(skip_checks) and O(add_checks).
      - A batch that starts again pauses before, for up to 10 seconds. It is refused after the twelfth attempt without
        success because a copy is missing, or a member whose pod is Ready.
      - Without this option, and with O(wait=false), the task ends with the verdict V(waiting), and the caller starts
        again.
    type: dict
    suboptions:
      wait_timeout:
        description: Seconds to wait at the gate without progress.
        type: int
        default: 1800
      wait_limit:
        description:
          - Seconds from the start of this task after which no further member is taken down. The task then fails.
            Members that are down are still waited for.
        type: int
        default: 7200
      split_after:
        description:
          - Seconds after which the part of the rest that may go is let through. By default it is never split.
        type: int
      skip_upgraded:
        description: Whether members that were all upgraded outside of this run are let through without a proof.
        type: bool
        default: false
      target_version:
        description:
          - The version that the upgrade leads to. A replica that only upgraded members may hold is not waited for. By
            default it is that of the module.
        type: str
      waited:
        description:
          - Seconds that O(batch) has waited at its gate before this task. After more than a minute its indices are
            flushed again before allocation is restricted.
        type: float
        default: 0.0
      drained:
        description: Members whose shards are moved to other members before the gate, if they are in the rest.
        type: list
        elements: str
        default: []
"""

    RESTRICTING = r"""
options:
  allocation:
    description:
      - With V(restrict), allocation is restricted for O(batch) immediately before it goes, as the module
        M(stateful.upgrade.shard_allocation) does it, with the same undo. Allocation is restricted once the proof holds,
        and the proof is made again. If it does not hold then, allocation is put back at once.
      - If only a copy is missing that the restriction itself keeps away, such as a copy of an index made since, the
        batch starts again after a pause, twelve times at most.
      - With V(unchanged) allocation stays as it is, and also if nothing is to be replaced. The module
        M(stateful.upgrade.cluster_health_gate) restricts it at the moment C(before_stop) only.
    type: str
    default: unchanged
    choices: [unchanged, restrict]
  archived:
    description:
      - With O(allocation), the fate of settings that this version does not know, see
        M(stateful.upgrade.shard_allocation).
    type: str
    default: remove
    choices: [remove, refuse]
"""
