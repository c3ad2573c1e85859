"""The words that the provisioner and the rest of the sandbox share."""

PROVISIONER = "stateward.dev/local-volumes"
STORAGE_CLASS = "local"
LIMITED_PROVISIONER = "stateward.dev/limited-volumes"
LIMITED_CLASS = "limited"
"""The class of volumes that are as large as their claim, and no larger."""
