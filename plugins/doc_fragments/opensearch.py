# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options for the address of OpenSearch; their specification is `OPENSEARCH` in module_utils/common/arguments."""

from __future__ import annotations


class ModuleDocFragment:
    """The option `opensearch`."""

    DOCUMENTATION = r"""
options:
  opensearch:
    description: The address of the OpenSearch cluster, and the credentials for it.
    type: dict
    suboptions:
      hosts:
        description:
          - URLs of the REST ports of one or more members, or of a service in front of them. One that answers is enough.
          - All begin with C(https://), or all with C(http://). They hold no user name and no password.
          - Taken from the environment variable E(OPENSEARCH_HOSTS) or E(OPENSEARCH_URL) if not given.
        type: list
        elements: str
        aliases: [url]
      username:
        description:
          - The user name for basic authentication.
          - Taken from the environment variable E(OPENSEARCH_USERNAME) if not given.
        type: str
      password:
        description:
          - The password for basic authentication.
          - Taken from the environment variable E(OPENSEARCH_PASSWORD) if not given.
        type: str
      client_cert:
        description: The file with a client certificate.
        type: path
      client_key:
        description: The file with the key of O(opensearch.client_cert).
        type: path
      ca_cert:
        description:
          - The file with the CA certificate of the cluster.
          - Taken from the environment variable E(OPENSEARCH_CA_CERT) if not given.
        type: path
      validate_certs:
        description: Whether the certificates of the members are checked.
        type: bool
        default: true
      proxy:
        description:
          - The URL of an HTTP proxy to the cluster, with C(user:password@) if the proxy asks for that. It takes
            precedence over E(HTTPS_PROXY) or E(HTTP_PROXY) of the environment.
          - This machine itself is never reached through a proxy of the environment.
        type: str
      no_proxy:
        description:
          - Hosts, domains, addresses and networks, separated by commas, for which no proxy is used. It takes precedence
            over E(NO_PROXY) of the environment.
        type: str
      port_forward:
        description:
          - Reach the cluster through the Kubernetes API (option O(kubernetes)), as C(kubectl port-forward) does, if
            there is no other way to it. Each connection goes to a Ready pod. If that pod goes away, the next connection
            goes to another one.
          - O(opensearch.hosts) is then one URL to which no connection is made. It tells whether there is TLS, and the
            name in the certificates of the members, as in V(https://opensearch.search.svc:9200).
          - Needs the rights C(get) and C(create) of C(pods/portforward), C(list) of C(pods), and with
            O(opensearch.port_forward.service) C(get) of C(services).
        type: dict
        suboptions:
          namespace:
            description: The namespace of the pods.
            type: str
            required: true
          service:
            description: The Service in front of the members. Either this or O(opensearch.port_forward.label_selector).
            type: str
          label_selector:
            description: The labels of the members' pods.
            type: str
          port:
            description: The REST port of the Service, or of the pods if no Service is given.
            type: int
            default: 9200
      request_timeout:
        description: Seconds to wait for the whole answer to one request, even if several hosts are tried for it.
        type: int
        default: 30
requirements:
  - opensearch-py >= 2.8 (Python package)
"""
