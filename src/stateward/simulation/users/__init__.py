"""Users and their edits of a cluster, and the profiles that make some edits and faults frequent."""
