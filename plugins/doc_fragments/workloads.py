"""Options of the modules that take down Kubernetes nodes with databases on them."""

from __future__ import annotations


class ModuleDocFragment:
    """The options `workloads` and `proof`, specified as `WORKLOADS` and `PROOF` in the room workloads."""

    DOCUMENTATION = r"""
options:
  workloads:
    description: The databases on the Kubernetes nodes, which have to spare each batch before it goes down.
    type: list
    elements: dict
    default: []
    suboptions:
      system:
        description: The system. With V(longhorn) its volumes have to be whole.
        type: str
        required: true
        choices: [opensearch, elasticsearch, longhorn]
      namespace:
        description: The namespace of the pods, by default that of Longhorn.
        type: str
      opensearch:
        description: The connection to OpenSearch or Elasticsearch. No environment variable is read for it.
        type: dict
        suboptions:
          hosts:
            description: URLs of the REST ports of one or more members, or of a service in front of them.
            type: list
            elements: str
            aliases: [url]
          username:
            description: The user name for basic authentication.
            type: str
          password:
            description: The password for basic authentication.
            type: str
          client_cert:
            description: The file with a client certificate.
            type: path
          client_key:
            description: The file with its key.
            type: path
          ca_cert:
            description: The file with the CA certificate of the cluster.
            type: path
          validate_certs:
            description: Whether the certificates of the members are checked.
            type: bool
            default: true
          proxy:
            description: The URL of an HTTP proxy.
            type: str
          no_proxy:
            description: Hosts, domains, addresses and networks, separated by commas, for which no proxy is used.
            type: str
          port_forward:
            description: Reach the members through the Kubernetes API.
            type: dict
            suboptions:
              namespace:
                description: The namespace of the pods.
                type: str
                required: true
              service:
                description: The service whose pods are reached.
                type: str
              label_selector:
                description: The labels of the pods that are reached, in place of a service.
                type: str
              port:
                description: The REST port of the container.
                type: int
                default: 9200
          request_timeout:
            description: Seconds to wait for the whole answer to one request.
            type: int
            default: 30
      allow_single_copy:
        description: The indices whose only copy may be away, see M(stateful.upgrade.cluster_health_gate).
        type: list
        elements: str
        default: []
      allow_quorum_loss:
        description: Whether the cluster may be without an elected manager for a while.
        type: bool
        default: false
      allow_red_indices:
        description: The indices whose shards may be missing.
        type: list
        elements: str
        default: []
"""

    PROOF = r"""
options:
  proof:
    description: With O(state=rejoined) and O(state=whole) the value RV(workloads) of O(state=ready).
    type: dict
    default: {}
"""
