"""Where the endpoint is: what its server and its clients agree on."""

TOKEN_HEADER = "X-Stateward-Token"  # noqa: S105 - the name of a header
SERVICE, PORT_NAME = "stateward-database-view", "view"
ACCOUNT = "stateward-database-view"
"""The ServiceAccount of users that have no token of their own: it may get all clusters, and nothing else."""
PREVIEW_PATH = "/v1/namespaces/{namespace}/{plural}/preview"
PATH = "/v1/namespaces/{namespace}/{plural}/{name}/database"
