"""Random upgrades of Longhorn."""
