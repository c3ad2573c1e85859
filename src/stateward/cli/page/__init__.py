"""The page: clusters, members, the plan and the timeline in a browser, for the tour, `dashboard` and the operator.

Pure functions (`model`, `timeline`, `plan_view`) make everything that the page shows; the page in `assets` draws it and
decides nothing. A `Host` gives the clusters, and a session for plans and verbs.
"""
