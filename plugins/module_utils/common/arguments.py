"""Argument specifications shared by the modules of the action group; documented in doc_fragments."""

from __future__ import annotations

import os
from typing import Any

from ansible.module_utils.basic import AnsibleFallbackNotFound

Options = dict[str, dict[str, Any]]


def first_in_environment(*names: str) -> str:
    """The first of these environment variables that has a value.

    An empty one counts as not given: a credential of AWX sets all of its variables, also those of fields left empty.

    Raises:
        AnsibleFallbackNotFound: none has a value.
    """
    for name in names:
        if os.environ.get(name):
            return os.environ[name]
    raise AnsibleFallbackNotFound


def from_environment(*names: str) -> tuple[Any, list[str]]:
    """The `fallback` of an option: the first of these environment variables that has a value."""
    return (first_in_environment, list(names))


KUBERNETES: Options = {
    "kubernetes": {
        "type": "dict",
        "apply_defaults": True,
        "options": {
            "kubeconfig": {"type": "path", "fallback": from_environment("K8S_AUTH_KUBECONFIG", "KUBECONFIG")},
            "context": {"type": "str", "fallback": from_environment("K8S_AUTH_CONTEXT")},
            "host": {"type": "str", "fallback": from_environment("K8S_AUTH_HOST")},
            "api_key": {"type": "str", "no_log": True, "fallback": from_environment("K8S_AUTH_API_KEY")},
            "validate_certs": {
                "type": "bool",
                "default": True,
                "aliases": ["verify_ssl"],
                "fallback": from_environment("K8S_AUTH_VALIDATE_CERTS", "K8S_AUTH_VERIFY_SSL"),
            },
            "ca_cert": {
                "type": "path",
                "aliases": ["ssl_ca_cert"],
                "fallback": from_environment("K8S_AUTH_CA_CERT", "K8S_AUTH_SSL_CA_CERT"),
            },
            "proxy": {"type": "str", "no_log": True, "fallback": from_environment("K8S_AUTH_PROXY")},
            "no_proxy": {"type": "str", "fallback": from_environment("K8S_AUTH_NO_PROXY")},
            "request_timeout": {"type": "int", "default": 30},
        },
    }
}

OTHER_KUBERNETES: dict[str, Any] = {
    "type": "dict",
    # The variables of the environment name the cluster of the members, and would win over a context given here.
    "options": {
        name: {key: value for key, value in option.items() if key != "fallback"}
        for name, option in KUBERNETES["kubernetes"]["options"].items()
    },
}
"""The connection to a Kubernetes that may be another one than that of the members."""

NAMESPACE: Options = {"namespace": {"type": "str", "required": True}}


PORT_FORWARD: dict[str, Any] = {
    "type": "dict",
    "options": {
        "namespace": {"type": "str", "required": True},
        "service": {"type": "str"},
        "label_selector": {"type": "str"},
        "port": {"type": "int", "default": 9200},
    },
    "required_one_of": [("service", "label_selector")],
    "mutually_exclusive": [("service", "label_selector")],
}

AFTER: dict[str, Any] = {
    "type": "dict",
    "options": {
        "hosts": {"type": "list", "elements": "str", "aliases": ["url"], "required": True},
        "username": {"type": "str"},
        "password": {"type": "str", "no_log": True},
        "client_cert": {"type": "path"},
        "client_key": {"type": "path"},
        "ca_cert": {"type": "path"},
        "validate_certs": {"type": "bool", "default": True},
    },
}
"""The connection to members that have restarted, where a run changes the scheme of their REST port."""

OPENSEARCH: Options = {
    "opensearch": {
        "type": "dict",
        "apply_defaults": True,
        "options": {
            "hosts": {
                "type": "list",
                "elements": "str",
                "aliases": ["url"],
                "fallback": from_environment("OPENSEARCH_HOSTS", "OPENSEARCH_URL"),
            },
            "username": {"type": "str", "fallback": from_environment("OPENSEARCH_USERNAME")},
            "password": {"type": "str", "no_log": True, "fallback": from_environment("OPENSEARCH_PASSWORD")},
            "client_cert": {"type": "path", "fallback": from_environment("OPENSEARCH_CLIENT_CERT")},
            "client_key": {"type": "path", "fallback": from_environment("OPENSEARCH_CLIENT_KEY")},
            "ca_cert": {"type": "path", "fallback": from_environment("OPENSEARCH_CA_CERT")},
            "validate_certs": {"type": "bool", "default": True},
            "proxy": {"type": "str", "no_log": True},
            "no_proxy": {"type": "str"},
            "port_forward": PORT_FORWARD,
            "after": AFTER,
            "request_timeout": {"type": "int", "default": 30},
        },
    }
}

RECORD_PLACES, RECORD_PATH = ("kubernetes", "file", "none"), "~/.local/state/stateful.upgrade"

LOCK: Options = {
    "lock": {
        "type": "dict",
        "options": {
            "run": {"type": "str", "required": True},
            "name": {"type": "str", "required": True},
            "kept_in": {"type": "str", "choices": ["kubernetes", "opensearch"], "default": "kubernetes"},
            "namespace": {"type": "str"},
            "lease_duration": {"type": "int", "default": 60},
            "record": {
                "type": "dict",
                "options": {
                    "kept_in": {"type": "str", "choices": list(RECORD_PLACES)},
                    "path": {"type": "path", "default": RECORD_PATH},
                },
            },
        },
    }
}

_MONITORING: Options = {
    "url": {"type": "str"},
    "username": {"type": "str"},
    "password": {"type": "str", "no_log": True},
    "token": {"type": "str", "no_log": True},
    "ca_cert": {"type": "path"},
    "validate_certs": {"type": "bool", "default": True},
    "request_timeout": {"type": "int", "default": 10},
}

PROMETHEUS: Options = {
    "prometheus": {"type": "dict", "options": {**_MONITORING, "url": {"type": "str", "required": True}}}
}

ALERTMANAGER: Options = {
    "alertmanager": {
        "type": "dict",
        "apply_defaults": True,
        "options": {**_MONITORING, "silence_duration": {"type": "int", "default": 900}, "cluster": {"type": "str"}},
    }
}

METRICS: Options = {
    "metrics_path": {"type": "path"},
    "push_gateway": {"type": "dict", "apply_defaults": True, "options": _MONITORING},
}
"""Where the figures for Prometheus are written."""

RECORD: Options = {
    "record_kept_in": {"type": "str", "choices": list(RECORD_PLACES)},
    "record_path": {"type": "path", "default": RECORD_PATH},
    **METRICS,
}
"""Where the record is kept, by default the namespace if there is one, else a file; and where its figures go."""

VARIABLES: Options = {
    "from_variables": {"type": "str", "choices": ["none", "shared", "all"], "default": "none"},
}
"""Read only by the action plugins, which add the options that it asks for."""

CONNECTIONS: Options = {**KUBERNETES, **OPENSEARCH, **ALERTMANAGER, **LOCK, **VARIABLES}
"""Every module of the action group accepts these, so that `module_defaults` can set them once for all."""

CONSENT: Options = {
    "allow_single_copy": {"type": "list", "elements": "str", "default": []},
    "allow_quorum_loss": {"type": "bool", "default": False},
    "allow_red_indices": {"type": "list", "elements": "str", "default": []},
}

WAIT: Options = {
    "wait": {"type": "bool", "default": True},
    "wait_timeout": {"type": "int", "default": 1800},
    "wait_sleep": {"type": "float", "default": 1.0},
}
