"""A model of OpenSearch that keeps what matters for operations, behind the HTTP interface that the driver speaks.

Kept: identity, joining and its version rules, bootstrap, voting configuration with exclusions and reconfiguration,
election, shards with copies and in-sync sets, allocation with its deciders, recoveries that take time, acknowledged
documents. Not kept: documents themselves, searches, mappings.
"""
