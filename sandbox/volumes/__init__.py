"""A dynamic provisioner of local volumes, with expansion: a directory on the node for each claim, or a file system.

For directories it runs outside of the nodes, on the machine they all share, and is told where theirs are. File systems
are mounted, so for these it runs in each node.
"""
