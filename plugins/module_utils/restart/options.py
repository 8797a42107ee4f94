"""Arguments that the modules of restarts share; documented in doc_fragments/restart.py."""

from __future__ import annotations

from ..common.arguments import Options
from .judge.phases import PHASE
from .observe.agent import PORT
from .process_controls import WAYS

RESTART: Options = {
    "annotation": {"type": "str", "default": PHASE},
    "way": {"type": "str", "default": "kubelet", "choices": [*WAYS]},
    "allow_full_restart": {"type": "bool", "default": False},
    "agent": {
        "type": "dict",
        "options": {
            "port": {"type": "int", "default": PORT},
            "through": {"type": "str", "choices": ["pod_address", "kubernetes"], "default": "kubernetes"},
            "token": {"type": "str", "no_log": True},
            "ca_cert": {"type": "path"},
            "client_cert": {"type": "path"},
            "client_key": {"type": "path"},
            "server_name": {"type": "str"},
            "validate_certs": {"type": "bool", "default": True},
            "request_timeout": {"type": "int", "default": 30},
        },
    },
}

CONFIGURATION: Options = {
    "configuration": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {
            "pool": {"type": "str", "required": True},
            "secret": {"type": "str", "no_log": False},
            "path": {"type": "str"},
            "file": {"type": "path"},
            "content": {"type": "str", "no_log": True},
            "contents": {"type": "dict", "no_log": True},
            "previous": {"type": "bool", "default": False},
            "labels": {"type": "dict"},
            "replicas": {"type": "int"},
        },
    }
}

LICENCE: Options = {"licence": {"type": "raw"}}
