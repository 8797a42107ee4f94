# SPDX-License-Identifier: GPL-3.0-or-later
"""`python -m tests.pages`: writes the pages that are made by code."""

from __future__ import annotations

from tests.pages import output, settings

for each in (output, settings):
    each.PAGE.write_text(each.page(), encoding="utf-8")
