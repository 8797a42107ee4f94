"""The documentation site: docs/ as pages, the reference of plugins and roles, and their pictures."""
