"""What OpenSearch and Elasticsearch have in common: one family, two flavors.

`spec` fills in defaults, `configuration` writes files, `objects` makes pods and Services, `database` asks and tells.
All of it is pure but `database`.
"""
