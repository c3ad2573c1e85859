"""The status of PoolScales, which autoscalers read. The rounds of the clusters obey their numbers."""
