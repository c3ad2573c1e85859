"""A plan run forward in time: the shipped planner in a world where every step succeeds and takes as long as it takes.

Much smaller than the whole simulation, so that a cluster of sixty members is through within seconds: it begins with a
real observation, knows neither API server nor faults, and goes from one event to the next. `pace` is how long things
take, `agenda` what happens when, `copies` where the database's copies go, `world` the members, `journey` the way.
"""
