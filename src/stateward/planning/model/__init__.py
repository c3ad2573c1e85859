"""The types that planning reads and writes.

`observation` is the whole state of one cluster at one instant: members, processes, the database, the desired state.
`actions` lists what a plan may do, `intent` what a plan reports about each member and each wait. This room imports
nothing else of planning.
"""
