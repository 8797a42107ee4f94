"""The demo: a real cluster is upgraded under traffic while you watch."""
