"""Where the endpoint is: what its server and its clients agree on."""

TOKEN_HEADER = "X-Stateward-Token"  # noqa: S105 - the name of a header
AUDIENCE = "stateward-database-view"
"""The audience of the tokens that clients request for the endpoint. The API server itself refuses them."""
SERVICE, PORT_NAME = "stateward-database-view", "view"
ACCOUNT = "stateward-database-view"
"""The ServiceAccount of the tokens for reports: it may get all clusters, and nothing else."""
PREVIEW_ACCOUNT = "stateward-object-preview"
"""The ServiceAccount of the tokens for previews: it has the verb below for all resources, and nothing else."""
PREVIEW_VERB = "preview"
"""A verb for which the API server has no request: the right to it is of use only here."""
PREVIEW_PATH = "/v1/namespaces/{namespace}/{plural}/preview"
PATH = "/v1/namespaces/{namespace}/{plural}/{name}/database"
