"""An OpenSearch cluster in memory: members, elections, shards and settings, as real servers treat them."""
