"""OpenSearch and Elasticsearch: one implementation, two flavors.

`spec` fills in defaults, `configuration` writes files, `objects` builds pods and Services, `plugins` adds what an image
lacks, `database` queries and commands the database, `declared` compares objects inside it with declared ones,
`snapshots` decides about snapshots and restores, `dashboards` about OpenSearch Dashboards and Kibana, `exporter` makes
the objects of an exporter of metrics. All is pure except `database`, `declared.requests` and `snapshots.requests`.
"""
