"""The main job, live: a real OpenSearch is upgraded and shrunk on a real Kubernetes while documents are written to it.

`place` is where it happens (the sandbox, or a cluster of one's own), `install` puts the operator there, `story` is what
is done with the cluster, `writer` and `ledger` write documents and remember which were acknowledged, `view` shows it
all while it goes on, `pictures` are the plan and the timeline, `verdict` is the last line.
"""
