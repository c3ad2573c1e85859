"""Network policies, enforced: on each node one process turns them into nftables rules for the node's pods.

It reads policies, pods and namespaces, and replaces one table of its own as a whole. As with most network plug-ins,
what the node itself sends to its pods (probes of the kubelet) is never filtered, and a new rule does not end a
connection.
"""
