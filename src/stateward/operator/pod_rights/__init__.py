"""Whether the pods that a cluster asks for may be made: by the policy of the operator, and by labels of what they use.

Comes in: a cluster. Goes out: what is refused of it, with the field of the spec. The rules themselves are pure, in
`stateward.api.pod_policy`; here are the finished templates that they are asked about, and the reading of labels.
"""
