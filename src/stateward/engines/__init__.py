"""Kinds of databases: what each must answer and be told, and the Kubernetes objects its members are made of.

pods          what the pods of all engines have in common
connection    the driver's interface, HTTP with limits, workers for large answers
search        OpenSearch and Elasticsearch: one family, two flavors (`opensearch` and `elasticsearch` name them)
foundationdb  FoundationDB
"""
