"""OpenShift's real version operator next to the lab's API server, and stand-ins for the operators that it waits for."""
