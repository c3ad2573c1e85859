"""Plug-ins of the databases for tests, as zip files that their own tools install.

`analysis` packs a real one. The others are compiled here, because no package registry has the real ones.
`repository_s3` stands in for OpenSearch's repository-s3: it is set as the documentation of the real one says, and keeps
snapshots in a real S3 server. `definitions` gives Elasticsearch endpoints for policies, transforms and machine
learning: its own classes read, check, change and print the definitions, and nothing runs them.

`rule_framework` is no plug-in but a module, in the image of OpenSearch 3.4.0: the real security plug-in extends it.
"""
