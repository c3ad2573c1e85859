"""Whether a cluster's pods may be created: by policy, by labels, and by the API server.

Input: a cluster. Output: its refusals, with the field of the spec. The rules themselves are pure, in
`stateward.api.pod_policy`; this room has the finished templates to which they apply, the reads of labels, and dry runs.
"""
