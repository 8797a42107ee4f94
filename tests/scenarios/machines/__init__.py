"""Upgrades of kubeadm clusters whose machines are operating systems with SSH servers."""
