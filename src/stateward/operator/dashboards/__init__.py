"""Keeps OpenSearch Dashboards and Kibana beside search clusters, and the routes to both.

`controller` watches and schedules, `reconcile` is one round of one cluster: it reads everything live, lets the pure
`engines.search.dashboards` decide, and applies. `secrets` keeps keys, credentials and certificates, `health` asks the
instances, `owned` writes and deletes objects of this cluster only, `routes` keeps Ingresses and HTTPRoutes, `remove`
takes the dashboards away, `report` writes their part of the status. Nothing here can stop a round of the database.
"""
