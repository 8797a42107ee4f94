"""OpenShift's real version operator beside the lab's API server, and stand-ins for the operators that it waits for."""
