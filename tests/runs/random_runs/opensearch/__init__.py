"""Random upgrades of OpenSearch."""
