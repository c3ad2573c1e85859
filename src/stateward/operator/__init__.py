"""Where planning meets the world: observe a cluster, plan, act, and tell people; all effects of the product are here.

`holdings` is what was read about one cluster, `translate` freezes it into an observation, `reconcile` runs one loop,
`perform` carries out plans and `act` actions, `controller` decides when, `process` starts and stops it all.
"""
