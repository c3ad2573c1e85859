"""OpenSearch Dashboards and Kibana beside a database, and routes to both: versions and objects. Pure.

Input: the cluster as written, what was observed of its dashboards, and their keys and credentials. Output: the version
and number of instances that may run now, with the reason to wait, and manifests. `decision` chooses, `settings` writes
the configuration, `objects` and `routes` build manifests, `credentials` makes the requests to the database.
"""
