"""The words that the provisioner and the rest of the sandbox share."""

PROVISIONER = "stateward.dev/local-volumes"
STORAGE_CLASS = "local"
