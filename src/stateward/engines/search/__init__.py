"""What OpenSearch and Elasticsearch have in common: one family, two flavors."""
