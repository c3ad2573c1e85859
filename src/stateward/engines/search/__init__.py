"""OpenSearch and Elasticsearch: one implementation, two flavors.

`spec` fills in defaults, `configuration` writes files, `objects` builds pods and Services, `plugins` adds what an image
lacks, `database` queries and commands the database, `declared` compares objects inside it with declared ones,
`snapshots` decides about snapshots and restores, `dashboards` about OpenSearch Dashboards and Kibana, `remote` about
clusters that a cluster searches, `exporter` makes the objects of an exporter of metrics. All is pure except `database`,
and the modules `requests` of `declared`, `remote` and `snapshots`.
"""
