"""Real servers of monitoring: Prometheus, Alertmanager and the push gateway."""
