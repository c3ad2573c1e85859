"""An API server in memory: it models the behaviour that operators depend on.

`store` has the objects and the revision log, `kinds` the properties of each kind, `selectors` label selectors,
`watches` the cursors, and the room `writing` the verbs that write. `client` implements the operator's `Api` protocol
with a simulated `network`, which `audit` can record; `refusals` are the errors it raises.
"""
