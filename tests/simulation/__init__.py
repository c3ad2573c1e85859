"""The whole operator in virtual time, with simulated databases on a simulated Kubernetes.

One room for each kind of scenario: `membership`, `inputs`, `restarts`, `failures`, `foundationdb` and `users`. `seeds`
holds drawn runs, `world` tests the simulation itself, and `mutations` removes guards one at a time, which a test must
notice. `scenario` drives one run; `steps` counts the operator's writes, so that a test can kill it after each of them.
"""
