"""The process manager inside each database pod.

It restarts the database without recreating the pod: address, node, volumes and page cache stay. It uses only the
standard library and imports nothing else of Stateward, because it runs in images without Python: an init container
copies it with its own interpreter (`process.transplant`). `docs/agent.md` describes it.

io       the loop, connections, HTTP/1.1, signals, the log
process  the database process and its configuration
serving  the operator's API and the kubelet's probes
"""

VERSION = "0.1.0"
