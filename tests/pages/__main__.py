# SPDX-License-Identifier: GPL-3.0-or-later
"""`python -m tests.pages`: writes the pages that are made by code."""

from __future__ import annotations

from tests.pages.output import PAGE, page

PAGE.write_text(page(), encoding="utf-8")
