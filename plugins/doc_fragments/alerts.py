"""The options of modules that ask Prometheus for alerts; specified in common/arguments and in alerting."""

from __future__ import annotations


class ModuleDocFragment:
    """The options `prometheus`, `alerts` and `ignored`."""

    DOCUMENTATION = r"""
options:
  prometheus:
    description:
      - The address of Prometheus, or of a server with its API such as a Thanos Querier, and the credentials for it.
    type: dict
    suboptions:
      url:
        description: The URL before C(/api/v1), without user name and password.
        type: str
        required: true
      username:
        description: The user name for basic authentication.
        type: str
      password:
        description: The password for basic authentication.
        type: str
      token:
        description: A bearer token. It takes precedence over O(prometheus.username).
        type: str
      ca_cert:
        description: The file with the CA certificate of the server.
        type: path
      validate_certs:
        description: Whether the certificate of the server is checked.
        type: bool
        default: true
      request_timeout:
        description: Seconds to wait for an answer.
        type: int
        default: 10
  alerts:
    description:
      - Selectors of the alerts to check, in the syntax that PromQL has between braces, as V(severity="critical"). An
        alert is checked if one of them fits it.
    type: list
    elements: str
    default: ['severity="critical"']
  ignored:
    description: The alerts that stop nothing, and why.
    type: list
    elements: dict
    default: []
    suboptions:
      alerts:
        description: The selector of these alerts.
        type: str
        required: true
      reason:
        description: The reason for which they stop nothing.
        type: str
        required: true
      owner:
        description: The person or the team that answers for that.
        type: str
        required: true
      until:
        description: The last day on which they are ignored, as V(2026-12-31). After it they are checked again.
        type: str
        required: true
"""
