"""Rehearsals of a change: the forecast, played many times with faults; `foundationdb` has the rules of that database.

In comes what a forecast takes: an observation with the changed spec, and durations. Out comes what happened in each
run, and what all runs say together. All is pure and repeatable: a seed determines its run. It may import `forecast`,
the rules of votes in `opensearch`, the model and the driver of FoundationDB, and planning.

    timings    durations around the usual ones
    faults     what fails in a run, when, and for how long
    measures   the time without a second copy, in red health, and with refused writes
    rules      what a kind of database adds: its world, its words, and what of it is known
    world      the world of the forecast, with faults
    search     the rules of OpenSearch and Elasticsearch
    run        one run
    rehearsal  the run of a seed, and what many runs say
    many       many runs in several processes
    story      the timeline of one run
"""
