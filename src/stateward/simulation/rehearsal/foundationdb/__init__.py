"""The rules of FoundationDB in a rehearsal: coordinators, recoveries, and copies on fault domains.

The database is the model of `simulation/foundationdb`, begun as the real one reports itself. The operator's driver
reads and changes it as it does a real one. FoundationDB does not report where each copy is: teams are assumed.

    rules    what a rehearsal asks of these rules, and the durations of the database
    teams    which fault domains hold the same data
    start    the model as the database reports itself
    machines the processes of members, and their disks
    model    the model with faults, and what it costs
    driver   the operator's driver on the model
    world    the world of the forecast on this model
"""
