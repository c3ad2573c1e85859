"""Guards broken one at a time: `python -m tests.mutants` changes one decision of the source and expects a test to fail.

`changes` finds the decisions of a module and how each can be broken, `trial` runs the tests on a copy of the checkout,
`equivalent` lists changes that change nothing, each with its reason.
"""
