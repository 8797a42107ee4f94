"""The kubelets: containers that start, become Ready, fail and stop, all on virtual time."""
