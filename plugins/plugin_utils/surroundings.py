"""The environment that a module has in its own process, set up temporarily in the controller's worker."""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import logging
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ansible.plugins.loader import filter_loader, test_loader


@contextlib.contextmanager
def environment_of_task(variables: Mapping[str, Any]) -> Iterator[None]:
    """The variables of `environment:` are set inside the block, and put back after it."""
    wanted = {str(name): str(value) for name, value in variables.items()}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def kept_from_the_terminal() -> Iterator[io.StringIO]:
    """The text that libraries print or log inside the block.

    The standard error of a module goes nowhere; here it would go to the terminal (ansible-core up to 2.18), become a
    warning of its own (from 2.19), or be written unmasked to Ansible's log file, which listens at the root logger.
    """
    text = io.StringIO()
    listeners = logging.root.handlers
    logging.root.handlers = []
    try:
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            yield text
    finally:
        logging.root.handlers = listeners


def load_early(names: Iterable[str]) -> None:
    """Import packages before the workers are forked, so that each worker has them at no cost.

    A package that cannot be imported is left for the task that needs it, which says so in one sentence.
    """
    missing = [name for name in names if name not in sys.modules]
    if not missing:
        return
    with _kept_for_good():
        for name in missing:
            with contextlib.suppress(Exception):
                importlib.import_module(name)


@contextlib.contextmanager
def _kept_for_good() -> Iterator[None]:
    """What the block makes is left out of all further garbage collections, and nothing is collected during it.

    Otherwise importing some hundred modules collects the whole memory several times, and each worker copies the memory
    of the controller when it collects (documentation of Python, gc.freeze: freeze before a fork).
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()


def load_filters_early() -> None:
    """Load the filters and tests of Ansible before the workers are forked.

    The first template with a filter loads all of them; otherwise each worker would do so until the controller has.
    """
    for loader, name in ((filter_loader, "combine"), (test_loader, "search")):
        with contextlib.suppress(Exception):
            loader.get(name)


def show_lines_at_once() -> None:
    """Make the controller's standard output flush each line.

    Ansible's Display does not flush: if the output is a pipe (a pod's log, a pipeline), a live line would only be seen
    after eight kilobytes of output, which can be at the end of the run.
    """
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(line_buffering=True)
