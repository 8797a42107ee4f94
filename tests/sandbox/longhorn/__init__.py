"""Longhorn in memory: its real definitions, its controllers, and an observer of what must never be lost."""
