# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options for the address of the Kubernetes API; their specification is `KUBERNETES` in common/arguments."""

from __future__ import annotations


class ModuleDocFragment:
    """The option `kubernetes`."""

    DOCUMENTATION = r"""
options:
  kubernetes:
    description:
      - The address of the Kubernetes API, and the credentials for it.
      - Without O(kubernetes.host), O(kubernetes.kubeconfig) and O(kubernetes.context), the kubeconfig of the user
        (C(~/.kube/config)) is taken. If there is none, the service account of the pod that Ansible runs in is taken.
      - Credential plugins of a kubeconfig are supported.
    type: dict
    suboptions:
      kubeconfig:
        description:
          - A kubeconfig file.
          - Taken from the environment variable E(K8S_AUTH_KUBECONFIG) or E(KUBECONFIG) if not given.
        type: path
      context:
        description:
          - The context of the kubeconfig.
          - Taken from the environment variable E(K8S_AUTH_CONTEXT) if not given.
        type: str
      host:
        description:
          - The URL of the API server. It takes precedence over the server named in O(kubernetes.kubeconfig) or
            O(kubernetes.context). Without these two no kubeconfig is read. It holds no user name and no password.
          - Taken from the environment variable E(K8S_AUTH_HOST) if not given.
        type: str
      api_key:
        description:
          - A bearer token. It takes precedence over the credentials of the kubeconfig.
          - Taken from the environment variable E(K8S_AUTH_API_KEY) if not given.
        type: str
      validate_certs:
        description:
          - Whether the certificate of the API server is checked. With V(true), a kubeconfig can still
            switch that off (C(insecure-skip-tls-verify)).
          - Taken from the environment variable E(K8S_AUTH_VERIFY_SSL) if not given.
        type: bool
        default: true
        aliases: [verify_ssl]
      ca_cert:
        description:
          - The file with the CA certificate of the API server.
          - Taken from the environment variable E(K8S_AUTH_SSL_CA_CERT) if not given.
          - If it is given, the certificate is checked even if the kubeconfig says otherwise.
        type: path
        aliases: [ssl_ca_cert]
      proxy:
        description:
          - The URL of an HTTP proxy to the API server, with C(user:password@) if the proxy asks for that. It takes
            precedence over the C(proxy-url) of the kubeconfig, which takes precedence over E(HTTPS_PROXY) or
            E(HTTP_PROXY) of the environment.
          - This machine itself is never reached through a proxy of the environment.
          - Taken from the environment variable E(K8S_AUTH_PROXY) if not given.
        type: str
      no_proxy:
        description:
          - Hosts, domains, addresses and networks, separated by commas, for which no proxy is used. It takes precedence
            over E(NO_PROXY) of the environment.
          - Taken from the environment variable E(K8S_AUTH_NO_PROXY) if not given.
        type: str
      request_timeout:
        description:
          - Seconds to wait for the whole answer to one request. Within them a request that only reads is tried several
            times. A longer pause that the server asks for (C(Retry-After)) is not kept.
        type: int
        default: 30
requirements:
  - kubernetes >= 31.0 (Python package)
"""
