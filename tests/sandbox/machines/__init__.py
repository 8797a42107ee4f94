"""Cluster API in memory: MachineDeployments, their machines and Kubernetes nodes."""
