"""Machines of the lab: small operating systems with the real kubeadm, beside the lab's real API server."""
