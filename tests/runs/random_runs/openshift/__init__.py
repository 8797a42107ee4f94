"""Random upgrades of OpenShift."""
