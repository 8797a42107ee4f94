"""Longhorn's controllers as functions of what their API server tells, after the sources of longhorn-manager v1.12.0."""
