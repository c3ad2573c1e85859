"""What controllers of things beside a database have in common: dashboards with routes, exporters, remote clusters.

`control` watches clusters and Deployments and runs rounds, one queue for each kind of thing; `owned` writes and deletes
objects of one cluster only; `pods` finds the pods of a Deployment, and `pod_check` what they may have; `stored_secret`
keeps a Secret with credentials; `status_parts` writes fields of the cluster's status beside those of the database.
"""
