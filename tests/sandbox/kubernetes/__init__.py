"""A Kubernetes API server in memory, with stand-ins for the controllers."""
