"""Pure planning: from one observation of a cluster to what should happen next to each member, and why.

Nothing here does I/O, reads a clock or draws a random number. Read `observation` for what is known, `plan` for how the
parts are put together, and then one file per question: `change` (how hard does a change hit a member), `safety` (who
may go down now), `gate` (is the database whole enough), `upgrade` (whose turn is it), `roll` (the steps of a restart),
`scale` (who comes and who leaves), `leave` (how a member leaves), `volume` (bigger, smaller, other), `bootstrap` (form
the cluster once), `repair` (what is broken may be fixed), `undo` (what was set in the database is lifted), `budget`
(what others may evict) and `status` (what people read).
"""
