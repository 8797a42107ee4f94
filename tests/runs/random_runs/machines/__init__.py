"""Random upgrades of machines of kubeadm."""
