# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that say where OpenSearch is; their specification is `OPENSEARCH` in module_utils/common/arguments."""

from __future__ import annotations


class ModuleDocFragment:
    """The option `opensearch`."""

    DOCUMENTATION = r"""
options:
  opensearch:
    description: Where the OpenSearch cluster is, and who asks.
    type: dict
    suboptions:
      hosts:
        description:
          - URLs of the REST ports of one or more members, or of a service in front of them. Any that answers is used.
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
      request_timeout:
        description: Seconds to wait for the answer to one request.
        type: int
        default: 30
requirements:
  - opensearch-py >= 2.8 (Python package)
"""
