"""The exporter of a search cluster's metrics, as the operator sees it: its settings, credentials and objects. Pure.

Input: the cluster as written, the operator's own image, and the credentials. Output: manifests, and the requests for
the user of the database. The process itself is `stateward.exporter`.
"""
