"""OpenShift in memory: its version, operators, pools of Kubernetes nodes, machines, update graph and registry."""
