"""Texts of code, read from its source without running it."""
