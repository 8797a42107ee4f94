"""Machines of the lab: small operating systems with the real kubeadm, next to the lab's real API server."""
