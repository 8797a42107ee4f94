"""`python -m tests.pages`: writes the pages and the argument specifications that are made by code."""

from __future__ import annotations

from tests.pages import output, reasons, settings, specifications, variables

for each in (output, reasons, settings, variables):
    each.PAGE.write_text(each.page(), encoding="utf-8")
for role in specifications.roles():
    specifications.file_of(role).write_text(specifications.specification(role), encoding="utf-8")
