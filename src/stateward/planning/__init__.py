"""Pure planning: from one observation of a cluster to what should happen next to each member, and why.

Nothing here does I/O, reads a clock or draws a random number. It is read best in this order.

What is known: `observation`, with its parts `member`, `database`, `security` and `desired`; what follows from it at
once: `facts`. What may be asked for: `actions`; what is said: `intent`. How it is put together: `plan`.

Then one file per question:

    change      how hard does a change hit a member          upgrade     whose turn is it, and who cannot go back
    gate        is the database whole enough                 safety      what must stay up
    choice      who may go down together                     sole        who holds the only copy of something
    roll        who changes next                             prepare     what comes before a pod may go
    repair      what is broken may be fixed                  templates   what may be written at once
    scale       who comes and who leaves                     arrive      how a member comes
    leave       how a member leaves                          capacity    can its data go anywhere else
    resign      how a manager loses its vote                 release     the end of a member that holds nothing
    missing     who is missing, since when and why           replacement who gets a new one in its place
    removal     who is being replaced                        pending     and how that list is kept
    alone       one process in its pod: the steps            phase       and their names
    restart     all restarts that have begun                 together    all members at once
    stopping    what is done before a process stops          idle        processes that nobody restarts
    schedule    what a person has asked for                  collect     what nobody needs any more
    questions   whose agent is asked                         process     and what it says
    volume      bigger, smaller, other                       fitting     does a kept volume fit
    bootstrap   form the cluster once                        undo        what was set is lifted
    byword      tell a database to make itself, once         tend        what else it is told for its own sake
    crossing    how far to what it does not talk to          cross       and what that holds up
    budget      what others may evict                        resting     where a member stands otherwise

Whether a member may leave before a new one has joined says `surge`; whether a new pod would find a node, `placement`.

How fast members go one after the other says `pacing`, and in how many zones nodes have taints says `taints`.

What was left by replaced members and is used by nobody again is `left`; which volumes are deleted with the cluster
resource says `retention`.

Votes that are nobody's any more are those of who has `departed`.

Which data of others counts as changed says `data`, and when it has settled `settling`; what goes on when the database
refuses a step, `depend`.

Who goes now is the `choice` after which fewest sets are left: one of a `division` of all who are still to go.

What people read of all that: `status`, with its `conditions` and where each pool stands (`standing`), and its `times`;
and `failing`, while there is no plan because the operator's rounds fail.
"""
