"""The types that planning reads and writes; no decisions.

`observation` is everything known about one cluster at one instant: members, processes, the database, the desired state.
`actions` is everything that a plan may ask for, `intent` what a plan says about each member and each wait. This room
imports nothing else of planning.
"""
