"""A model of OpenSearch for operations, behind the HTTP interface that the driver uses.

Modelled: identity, joining and its version rules, bootstrap, voting configuration with exclusions and reconfiguration,
election, shards with copies and in-sync sets, allocation with its deciders, timed recoveries, and the number of
acknowledged documents. Not modelled: contents of documents, searches, mappings.
"""
