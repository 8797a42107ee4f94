"""Real Elasticsearch members, run by the lab as OpenSearch's are."""
