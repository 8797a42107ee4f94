"""A Kubernetes of kubeadm in memory: machines, static pods, etcd, and the commands of kubeadm on a virtual clock."""
