"""Longhorn's controllers as functions of what their API server reports, after the source of longhorn-manager 1.12.0."""
