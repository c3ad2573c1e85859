"""A dynamic provisioner of local volumes: one directory on the node for each claim, with expansion.

It is told where the nodes' directories are, because it runs outside of them, on the machine they all share.
"""
