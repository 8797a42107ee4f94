"""Whole runs in one process: the executor of ansible-core, servers that are called without a socket, virtual time."""
