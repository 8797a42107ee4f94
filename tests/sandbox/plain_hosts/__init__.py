"""Machines in memory without Kubernetes: systemd, packages, and a service that is a member of a cluster in memory."""
