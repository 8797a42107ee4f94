"""The observer of whole runs: it sees the servers in memory themselves at each change, and holds the invariants."""
