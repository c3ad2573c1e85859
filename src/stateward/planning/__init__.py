"""Pure planning: from one observation to the next action for each member.

Nothing here does I/O, reads a clock or draws a random number. Each room imports only the rooms above it in this list:

    model     the types: observation, actions, intents
    facts     what follows from an observation
    safety    whether a member may stop now
    steps     the work: rollout (restarts, changes), upkeep (repair, cleanup), membership (join, leave)
    plan      the one planner: the order of the steps, and exactly one intent per member
    report    status, conditions and pending removals for users

Read `model.observation`, then `plan`, then the step that you care about. `after_refusal` decides which actions of a
plan still run after the API server or the database has refused one of them; `refusals` names what is refused in the
spec.
"""
