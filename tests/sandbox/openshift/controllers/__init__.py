"""The stand-ins for the controllers of OpenShift. Each docstring names the file or function that its rule is from."""
