"""Entry of `python -m tests.lab`."""

from __future__ import annotations

import sys

from tests.lab.command_line import main

sys.exit(main(sys.argv[1:]))
