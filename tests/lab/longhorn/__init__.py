"""Longhorn's stand-in controllers as a process beside the lab's real API server."""
