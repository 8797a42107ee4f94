"""The options of the modules that plan, begin and end the runs of a system, and those for the place of the record."""

from __future__ import annotations


class ModuleDocFragment:
    """The options that run/runs adds to those of a system, and `RECORD` of common/arguments."""

    DOCUMENTATION = r"""
options:
  kept_in:
    description: The place of the lock, see M(stateful.upgrade.upgrade_lock).
    type: str
    choices: [kubernetes, opensearch]
    default: kubernetes
  take_over:
    description: The run whose lock is taken over, although it may live; see M(stateful.upgrade.upgrade_lock).
    type: str
    default: ''
  lease_duration:
    description:
      - With O(state=begun), the time for which the lock lasts without being renewed, see
        M(stateful.upgrade.upgrade_lock).
    type: int
    default: 60
  confirmed:
    description: The digest of the plan that was agreed to. Another one is refused. Needed with O(state=begun).
    type: str
  show:
    description: Whether the plan is shown as text, when it is made with O(state=planned).
    type: bool
    default: false
  shown:
    description:
      - With O(state=begun), the plan that was shown. If its C(batches) have the members in another order, which the
        digest does not cover, the task says so.
      - Its C(commenced), C(predicted_seconds) and C(prediction) are those of the plan of the run as well.
      - The rights of the user in Kubernetes, which it has proven, are not asked for again.
    type: dict
    default: {}
  at:
    description:
      - The time from which the run may start, in the form of RFC 3339, such as V(2026-11-21T02:00:00Z). By
        default it may start at any time.
      - Before that time the verdict is V(waiting). With O(wait) the task waits for it, up to 15 minutes. If no batch
        has begun after a quarter of O(window), the record reports that once with its causes, and a single pass ends
        there.
      - One that has begun with a batch continues at any time, unless O(window_policy=pause).
    type: str
  window:
    description: Minutes after O(at) in which the run may start. After them it is refused.
    type: int
    default: 120
  window_policy:
    description:
      - With V(start_only) the window limits the start alone. With V(pause) no batch starts after the window, and the
        next run continues in the next window. With V(must_fit) it starts only if its predicted end is in the window.
        With V(open) it starts after the window, too.
    type: str
    choices: [start_only, pause, must_fit, open]
    default: start_only
  early_look:
    description:
      - Minutes before O(at) from which a pass reports the problems before the start, with those that are new or
        fixed since the pass before. By default every pass does.
    type: int
  supersede:
    description: Whether the run replaces an aborted upgrade, which then needs no resume.
    type: bool
    default: false
  approvals:
    description:
      - The points at which a person has to approve before the upgrade continues. O(confirmed) covers them, and the
        record keeps them.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: The name of the point.
        type: str
        required: true
      after:
        description: The number of batches of the upgrade that are done then.
        type: int
        required: true
  request:
    description:
      - The request that the upgrade carries out, which the record keeps. One that was carried out as a whole does
        nothing more.
    type: dict
    suboptions:
      source:
        description: Its place.
        type: str
        required: true
      digest:
        description: Its digest, with which it was read.
        type: str
        required: true
      owner: {description: The owner of its members if it is a document for one owner., type: str, default: ''}
      members: {description: Its members that are reported one by one., type: list, elements: str, default: []}
  event:
    description: With O(state=ended), the end of the run, see M(stateful.upgrade.upgrade_record).
    type: str
    choices: [completed, paused, stopped, failed, aborted]
  summary:
    description: With O(state=ended), the cause of an end that is not V(completed).
    type: str
    default: ''
  codes:
    description: With O(state=ended), the codes of the reasons for which the run has ended.
    type: list
    elements: str
    default: []
  health:
    description: The word for the health of the cluster, as the last gate has found it.
    type: str
    default: ''
  acts:
    description: The C(actions) of the last tasks. The record counts those that change something or put it back.
    type: list
    elements: dict
    default: []
  plan:
    description:
      - With O(state=ended), the plan with which the run has begun. If its record was removed since, it is started
        again with that.
    type: dict
  green_seconds:
    description: With O(state=ended), the seconds after which the cluster was green after the last batch.
    type: int
  waited:
    description: With O(state=ended), the waits of the last tasks, as the modules return them.
    type: list
    elements: dict
    default: []
"""

    RECORD = r"""
options:
  record_kept_in:
    description:
      - The place of the record. V(kubernetes) is a ConfigMap in the namespace, V(file) a file on the controller, and
        with V(none) no record is kept.
      - The default is V(kubernetes) if there is a namespace, else V(file).
    type: str
    choices: [kubernetes, file, none]
  record_path:
    description:
      - With O(record_kept_in=file), the folder of the records. It is made if it is missing, and only its owner can read
        the files.
      - If there is a namespace, its records are in a folder of its name there.
      - Each version of a record is a file of its own, C(NAME.NUMBER.json), of which the last two are kept.
    type: path
    default: ~/.local/state/stateful.upgrade
"""

    METRICS = r"""
options:
  metrics_path:
    description:
      - A folder in which a file C(NAME.prom) has the figures of the upgrade, as the textfile collector of Prometheus'
        node exporter reads it. It is made if it is missing. The file is written whenever the record is.
      - This needs the Python package C(prometheus-client). If the figures cannot be written, that is only a warning.
    type: path
  push_gateway:
    description: A push gateway of Prometheus, which gets the same figures, and the credentials for it.
    type: dict
    suboptions:
      url:
        description: The URL before C(/metrics), without user name and password.
        type: str
      username:
        description: The user name for basic authentication.
        type: str
      password:
        description: The password for basic authentication.
        type: str
      token:
        description: A bearer token. It takes precedence over O(push_gateway.username).
        type: str
      ca_cert:
        description: The file with the CA certificate of the push gateway.
        type: path
      validate_certs:
        description: Whether the certificate of the push gateway is checked.
        type: bool
        default: true
      request_timeout:
        description: Seconds to wait for an answer.
        type: int
        default: 10
"""

    EARLY = r"""
options:
  watchdog:
    description:
      - The name of an alert that always fires. A single pass before O(at) asks for it and for O(alerts), if there is
        O(prometheus), and notes those that would stop the upgrade.
    type: str
  dependencies:
    description: Services outside the cluster that have to be available, which a single pass before O(at) asks for.
    type: list
    elements: str
    default: []
  early_steps:
    description:
      - The steps whose questions a single pass before O(at) asks, as the step will before the first batch. V(nodes) are
        the Kubernetes nodes of the plan.
    type: list
    elements: str
    choices: [dependencies, alerts, nodes]
    default: [dependencies, alerts, nodes]
"""
