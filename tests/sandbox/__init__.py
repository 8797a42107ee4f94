"""Servers in memory that answer as the real ones do, on a clock that tests may move."""
