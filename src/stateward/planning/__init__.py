"""Pure planning: from one observation of a cluster to what should happen next to each member, and why.

Nothing here does I/O, reads a clock or draws a random number. Each room imports only those above it in this list:

    model     the types: observation, actions, intents
    facts     what follows from an observation
    safety    may this member go down now
    steps     what is done: rollout (restarts and changes), upkeep (repair and cleanup), membership (join and leave)
    plan      the one planner: the order of the steps, and exactly one intent per member
    report    what people read: status, conditions, pending removals

Read `model.observation`, then `plan`, then the step that you care about. `after_refusal` says which actions of a plan
still go on when the API server or the database has refused one of them.
"""
