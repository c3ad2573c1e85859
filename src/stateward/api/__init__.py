"""The custom resources: typed spec and status, defaults and validation.

    values      durations, quantities, versions, labels, problems
    kinds       the records of each kind
    schema      OpenAPI schemas, rules between fields, reference pages
    checks      what a schema cannot say
    pod_policy  what a pod template may say

`parse` reads a document, `validation` checks it as a whole, `generate` writes CRDs and reference pages.
"""
