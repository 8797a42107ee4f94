"""A real Kubernetes control plane: one binary built once per machine, run as four processes."""
