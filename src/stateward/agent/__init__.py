"""The process manager inside each database pod: starts, stops and watches one database process for the operator.

It stops and starts the database without the pod: the address, the node, the volumes and the page cache stay. It is the
standard library only and imports nothing else of Stateward, since it runs in images that have no Python: an init
container brings it with an interpreter of its own (`transplant`). `docs/agent.md` describes it.
"""

VERSION = "0.1.0"
