"""Plug-ins of OpenSearch for tests, as zip files that its own tool installs.

`analysis` packs a real one. `repository_s3` compiles the stand-in for repository-s3, which no package registry has: it
is set as the documentation of the real one says, and keeps snapshots in a real S3 server.
"""
