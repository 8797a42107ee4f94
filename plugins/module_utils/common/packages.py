"""Third-party packages: a missing one gives one sentence, and never ends the whole run."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from .errors import refusal


def needed(name: str, package: str) -> ModuleType:
    """The imported module `name`.

    Raises:
        Refusal: the package is not installed for the Python that runs this task, or cannot be loaded.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise refusal(
            "package_missing",
            f"The Python package {package} cannot be imported by {sys.executable}: {error}.",
            f"Install it there with `{sys.executable} -m pip install {package}`.",
        ) from error
