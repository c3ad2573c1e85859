"""Kinds of databases: drivers, and the Kubernetes objects of members.

pods          what the pods of all engines have in common
connection    the driver's interface, HTTP with limits, workers for large answers
exporter      what exporters of metrics of all engines have in common
search        OpenSearch and Elasticsearch: one family, two flavors (`opensearch` and `elasticsearch` name them)
foundationdb  FoundationDB
"""
