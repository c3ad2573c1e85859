"""OpenSearch and Elasticsearch: one implementation, two flavors.

`spec` fills in defaults, `configuration` writes files, `objects` builds pods and Services, `database` queries and
commands the database. Everything except `database` is pure.
"""
