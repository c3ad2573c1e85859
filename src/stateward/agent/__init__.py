"""The process manager inside each database pod: starts, stops and watches one database process for the operator.

It stops and starts the database without the pod: the address, the node, the volumes and the page cache stay. It is the
standard library only and imports nothing else of Stateward, since it runs in images that have no Python: an init
container brings it with an interpreter of its own (`process.transplant`). `docs/agent.md` describes it.

    io       the loop, connections, HTTP/1.1, signals, the log
    process  the database process and its configuration
    serving  the operator's API and the kubelet's probes
"""

VERSION = "0.1.0"
