"""Options of the modules that add machines for the time of an upgrade."""

from __future__ import annotations


class ModuleDocFragment:
    """The connection to Cluster API, and the machines that a plan foresees."""

    DOCUMENTATION = r"""
options:
  management:
    description:
      - The connection to the management cluster, in which Cluster API runs. By default it is that of O(kubernetes).
      - No environment variable is read for its suboptions.
    type: dict
    suboptions:
      kubeconfig:
        description: A kubeconfig file.
        type: path
      context:
        description: The context of the kubeconfig.
        type: str
      host:
        description: The URL of the API server. It holds no user name and no password.
        type: str
      api_key:
        description: A bearer token.
        type: str
      validate_certs:
        description: Whether the certificate of the API server is checked.
        type: bool
        default: true
        aliases: [verify_ssl]
      ca_cert:
        description: The file with the CA certificate of the API server.
        type: path
        aliases: [ssl_ca_cert]
      proxy:
        description: The URL of an HTTP proxy to the API server.
        type: str
      no_proxy:
        description: Hosts, domains, addresses and networks, separated by commas, for which no proxy is used.
        type: str
      request_timeout:
        description: Seconds to wait for the whole answer to one request.
        type: int
        default: 30
"""

    REQUEST = r"""
options:
  request_kubernetes:
    description:
      - The connection to a request that is an UpgradeTask, if it is not in the cluster of O(kubernetes) - that to the
        management cluster of Cluster API. Every other request is where O(kubernetes) leads.
      - No environment variable is read for its suboptions.
    type: dict
    suboptions:
      kubeconfig:
        description: A kubeconfig file.
        type: path
      context:
        description: The context of the kubeconfig.
        type: str
      host:
        description: The URL of the API server. It holds no user name and no password.
        type: str
      api_key:
        description: A bearer token.
        type: str
      validate_certs:
        description: Whether the certificate of the API server is checked.
        type: bool
        default: true
        aliases: [verify_ssl]
      ca_cert:
        description: The file with the CA certificate of the API server.
        type: path
        aliases: [ssl_ca_cert]
      proxy:
        description: The URL of an HTTP proxy to the API server.
        type: str
      no_proxy:
        description: Hosts, domains, addresses and networks, separated by commas, for which no proxy is used.
        type: str
      request_timeout:
        description: Seconds to wait for the whole answer to one request.
        type: int
        default: 30
"""

    PLAN = r"""
options:
  extra_machines:
    description:
      - The MachineDeployments of Cluster API that get more machines during the upgrade, see
        M(stateful.upgrade.extra_machines). The plan says whether that is possible, as long as no batch has begun.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: The name of the MachineDeployment.
        type: str
        required: true
      namespace:
        description: Its namespace in the management cluster.
        type: str
        required: true
      extra:
        description: The machines that it gets in addition to those that it has.
        type: int
        default: 1
"""
