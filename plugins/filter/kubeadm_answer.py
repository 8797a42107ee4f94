"""The filter kubeadm_answer."""

from __future__ import annotations

DOCUMENTATION = r"""
name: kubeadm_answer
short_description: Read what kubeadm, crictl and etcd have said on a machine
description:
  - Reads the results of commands for the role C(stateful.upgrade.member_kubeadm).
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  _input:
    description: The answer that is read.
    type: raw
    required: true
  read:
    description:
      - V(machine) makes the fact C(member_machine) from the results of the loop that asks for the versions and the free
        space, with O(certificates), O(etcd) and O(counted). Less than O(least) free is a fault in it.
      - V(version) gives the version in the answer of a program, such as 1.36.1, or an empty text.
      - V(failure) gives the last lines of a result that say something, as one line.
      - V(lacking_space) gives the sentence about file systems of C(member_machine) with less than O(least) free, or an
        empty text.
      - V(snapshot) gives C(path), C(hash), C(revision), C(size) and C(fault) of a snapshot of etcd from its status.
      - V(successor) gives the member of etcd that can take over the lead from O(own), or an empty text if that one does
        not lead, or no other one can.
      - V(own_member) gives the number of the member of etcd that has answered with the members that etcd counts.
      - V(majority) gives the sentence about a majority that etcd would not have without O(own), of the members in
        O(counted), or an empty text.
      - V(missing_images) gives those of the listed images that are not in O(present).
      - V(changed_files) says whether the files of a find differ from O(after).
      - V(brought) compares the etcd and the CoreDNS in the list of images of kubeadm with O(etcd_version) and O(dns),
        and gives for each its C(name), C(said), and whether that of the list is C(older).
      - V(failure_class) gives the class of a failure of C(kubeadm upgrade) - V(Transient), V(Unreachable) or
        V(Terminal).
      - V(tried_again) says whether it is tried again within O(budgets). It waits for O(wait) seconds first, and says
        no if the controller has ended until then.
      - V(most_tries) gives the highest budget of all classes.
      - V(blockers) gives the obstacles that a dry run of C(kubeadm upgrade) has named, each with its C(check) and
        C(said), the sentence about it.
      - V(obstacles) gives a sentence for each that stands in the way of the upgrade of the machine O(node) - these
        blockers for O(step), O(pull), an older CoreDNS in O(brought), and the blockers in O(planned).
      - V(plan) and V(diff) give the C(blockers) and the C(notes) of C(kubeadm upgrade plan -o json) for O(target), and
        of C(kubeadm upgrade diff).
      - V(first) gives the machine that goes first to O(version) by the plan of a run.
      - V(shared_arguments) gives those of the arguments for C(kubeadm upgrade apply) that O(command) takes too.
    type: str
    choices:
      - machine
      - version
      - failure
      - lacking_space
      - snapshot
      - successor
      - own_member
      - majority
      - missing_images
      - changed_files
      - brought
      - blockers
      - obstacles
      - failure_class
      - tried_again
      - most_tries
      - plan
      - diff
      - first
      - shared_arguments
    required: true
  certificates:
    description: The result of C(kubeadm certs check-expiration -o json).
    type: dict
  etcd:
    description: The result of C(etcdctl endpoint status -w json).
    type: dict
  counted:
    description: The result of C(etcdctl member list -w json).
    type: dict
  least:
    description: The bytes that have to be free.
    type: int
  path:
    description: The file of the snapshot.
    type: str
  seen:
    description: The revision that etcd had before.
    type: int
  sums:
    description: The checksum of the snapshot without its last 32 bytes, and these bytes, in hexadecimal digits.
    type: str
  own:
    description: The number of the member of etcd on the machine.
    type: str
  etcd_version:
    description: The version of etcd on the machine.
    type: str
  budgets:
    description: The retries by class, C(transient) and C(unreachable), 3 and 5 by default.
    type: dict
  wait:
    description: The seconds before a further try.
    type: float
  target:
    description: The version to which the cluster is upgraded, such as 1.36.1.
    type: str
  version:
    description: The version to which a batch leads.
    type: str
  command:
    description: The command of C(kubeadm upgrade) that gets the arguments.
    type: str
    choices: [plan, diff]
  step:
    description: The subcommand of C(kubeadm upgrade), apply or node.
    type: str
  node:
    description: The Kubernetes node of the machine.
    type: str
  pull:
    description: The failure of the pull of images, or an empty text.
    type: str
  brought:
    description: What V(brought) has given.
    type: list
    elements: dict
  planned:
    description: The blockers that V(plan) and V(diff) have given.
    type: list
    elements: dict
  dns:
    description: The image of CoreDNS in the cluster.
    type: str
  present:
    description: The output of C(crictl images -o json).
    type: str
  after:
    description: The files that a later find has found.
    type: list
    elements: dict
"""

EXAMPLES = r"""
- name: Show the end of a command that has failed
  ansible.builtin.debug:
    msg: "{{ kubeadm_ended | stateful.upgrade.kubeadm_answer('failure') }}"
"""

RETURN = r"""
_value:
  description: The reading that O(read) names.
  type: raw
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ..plugin_utils import kubeadm_answers, kubeadm_blockers, kubeadm_failures, kubeadm_plans

READERS: Mapping[str, Callable[..., Any]] = {
    "machine": kubeadm_answers.machine_of,
    "version": kubeadm_answers.version_in,
    "failure": kubeadm_answers.said_last,
    "lacking_space": kubeadm_answers.space_fault,
    "snapshot": kubeadm_answers.snapshot_of,
    "successor": kubeadm_answers.successor_of,
    "own_member": kubeadm_answers.own_member_of,
    "majority": kubeadm_answers.lacking_majority,
    "missing_images": kubeadm_answers.missing_images,
    "changed_files": kubeadm_answers.differing,
    "brought": kubeadm_answers.brought,
    "blockers": kubeadm_blockers.blockers_in,
    "obstacles": kubeadm_blockers.obstacles_of,
    "failure_class": kubeadm_failures.failure_class,
    "tried_again": kubeadm_failures.tried_again,
    "most_tries": kubeadm_failures.most_tries,
    "plan": kubeadm_plans.planned,
    "diff": kubeadm_plans.manifest_changes,
    "first": kubeadm_plans.first_machine,
    "shared_arguments": kubeadm_plans.shared_arguments,
}


def kubeadm_answer(value: Any, read: str, **given: Any) -> Any:
    """One reading of an answer.

    Raises:
        AnsibleFilterError: there is no such reading, or the answer cannot be read.
    """
    if read not in READERS:
        raise AnsibleFilterError(f"The filter kubeadm_answer reads {', '.join(READERS)}, and not {read}.")
    try:
        return READERS[read](value, **given)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise AnsibleFilterError(f"The filter kubeadm_answer cannot read {read}: {error!r}.") from error


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Each filter by its name."""
        return {"kubeadm_answer": kubeadm_answer}
