"""The process kubelet: Kubernetes nodes that run the containers of pods as plain processes."""
