"""The benchmark: the same upgrade in several ways, side by side."""
