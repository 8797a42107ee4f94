"""The options of the modules of restarts for the way of a restart, and for configurations."""

from __future__ import annotations


class ModuleDocFragment:
    """The options in module_utils/restart/options.py."""

    DOCUMENTATION = r"""
options:
  annotation:
    description: The key of the annotation that holds the phase.
    type: str
    default: upgrade.stateful/restart-phase
  way:
    description:
      - How a process is stopped and started.
      - With V(kubelet) the first process of the container gets the signal TERM, and the kubelet starts the container
        again. That needs the right to execute commands in pods (C(create) of C(pods/exec)), and C(sh) in the image. A
        container that was restarted a short while ago waits for the back-off of the kubelet, 10 seconds at first.
      - With V(agent) the agent of the collection, which is the entry point of the container, stops and starts it.
    type: str
    choices: [kubelet, agent]
    default: kubelet
  allow_full_restart:
    description:
      - Consent to a restart in which all processes stop before the first one starts, so that the whole cluster is
        unavailable for that time. It needs V(agent) in O(way).
    type: bool
    default: false
  agent:
    description: The connection to the agents of the pods, with O(way=agent).
    type: dict
    suboptions:
      port:
        description: The port of each agent.
        type: int
        default: 9443
      through:
        description:
          - The way to a pod. V(kubernetes) goes through the Kubernetes API, which needs C(get) and C(create) of
            C(pods/portforward). V(pod_address) goes to the address of the pod.
        type: str
        choices: [pod_address, kubernetes]
        default: kubernetes
      token:
        description: The token that the agents expect.
        type: str
      ca_cert:
        description: A file with the CA that has signed the certificates of the agents.
        type: path
      client_cert:
        description: A file with a certificate for agents that ask for one.
        type: path
      client_key:
        description: A file with its key.
        type: path
      server_name:
        description: The name in the certificates of the agents, if that is not the address of each pod.
        type: str
      validate_certs:
        description: Whether the certificates of the agents are verified.
        type: bool
        default: true
      request_timeout:
        description: Seconds for a request to an agent.
        type: int
        default: 30
"""

    CONFIGURATION = r"""
options:
  configuration:
    description:
      - The configurations that the processes are to run with, one entry for each pool that is to have another one.
      - Each pool has a Secret with one key for each member, named as its pod. The Secret is mounted as a directory,
        without C(subPath), and each server reads the file of its own pod.
      - The new content is written once the restart of its member has started. The process reads it only after the
        mounted file has its checksum. The former content stays in the Secret until the run is complete.
    type: list
    elements: dict
    default: []
    suboptions:
      pool:
        description: The name of the StatefulSet.
        type: str
        required: true
      secret:
        description: The name of the Secret. The default is the name of the pool with C(-configuration) after it.
        type: str
      path:
        description: The configuration file that the server reads. The default is that of its official image.
        type: str
      file:
        description:
          - A file with the content for every member. A relative path starts in the folder where the playbook was
            started.
        type: path
      content:
        description: The content for every member. Without it and O(configuration[].file), members keep what they have.
        type: str
      contents:
        description: The content of single members, by pod name. It comes before O(configuration[].content).
        type: dict
      previous:
        description:
          - Give members again what they had before the last run, if that was not completed. The Secret has it until
            then.
        type: bool
        default: false
      labels:
        description:
          - Labels for each pod of the pool that restarts, such as those of its new roles. They are set when its process
            starts. A null removes a label.
          - Labels by which the controller of the pool finds its pods are refused.
        type: dict
      replicas:
        description:
          - The number of members that the pool is to have. By default it stays.
          - A new member gets its key before its pod is made. A member that goes is excluded from allocation, shown to
            hold no shard, and then deleted, one at a time and the one with the highest ordinal first. Its key goes
            last.
        type: int
"""

    LICENCE = r"""
options:
  licence:
    description:
      - The licence of a cluster of Elasticsearch. It is V(basic) or V(trial), which the servers make themselves, or an
        issued licence as a dictionary, or the path of the file with it on the controller.
      - By default the licence stays as it is.
    type: raw
"""
