"""Whether a cluster's pods may be created: by policy, and by labels.

Input: a cluster. Output: its refusals, with the field of the spec. The rules themselves are pure, in
`stateward.api.pod_policy`; this room has the finished templates to which they apply, and the reads of labels.
"""
