"""The whole operator in simulated time, against simulated databases on a simulated Kubernetes.

One room for each kind of story: `membership`, `inputs`, `restarts`, `failures`, `foundationdb` and `people`. `seeds`
holds drawn runs, `world` holds the simulation itself to its rules, and `mutations` removes guards one at a time, which
a test must notice. `story` tells one run; `steps` counts the writes of a run, so that a test can stop the operator
after each of them.
"""
