"""Longhorn's stand-in controllers as a process next to the lab's real API server."""
