"""Remote clusters: the clusters that one searches. Pure, but for `requests` in a session that it is given.

`standing` says why a cluster cannot be searched yet; `spec/consent` has which clusters both sides have joined.
`decision` is what to do about the settings of one alias, and `requests` how they are read and written. `objects` is the
Service that other clusters use, and `preview` what `plan` tells.
"""
