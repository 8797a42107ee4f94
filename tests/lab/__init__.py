"""The lab: a real Kubernetes control plane and a process kubelet, without containers."""
