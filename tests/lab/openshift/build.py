"""The cluster-version-operator of OpenShift, built once per machine and kept in the cache."""

from __future__ import annotations

from pathlib import Path

from tests.lab.errors import LabError
from tests.lab.go_program import GoProgram, Patched

MODULE = "github.com/openshift/cluster-version-operator"
UPDATES = "LAB_UPDATE_PAYLOADS"
"""The environment variable of the folder in which the operator finds the payloads of updates."""
_FIXED = 'const (\n\ttargetUpdatePayloadsDir = "/etc/cvo/updatepayloads"\n)'
_CHOSEN = f'var targetUpdatePayloadsDir = os.Getenv("{UPDATES}")'


def _in_the_lab(text: str) -> str:
    """The folder of payloads is one of the lab: the fixed one takes the rights of root, and all labs would share it."""
    if text.count(_FIXED) != 1:
        raise LabError(f"{MODULE} names the folder of its payloads in another way than this lab knows; see build.py.")
    return text.replace(_FIXED, _CHOSEN)


VERSION_OPERATOR = GoProgram(
    "version-operator",
    Path(__file__).parent,
    "1 minute",
    patched=Patched(MODULE, "pkg/cvo/updatepayload.go", _in_the_lab),
    recipe=_CHOSEN,
)
