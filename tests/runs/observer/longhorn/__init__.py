"""The observer of whole runs of Longhorn."""
