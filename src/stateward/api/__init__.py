"""The custom resources: typed spec and status, defaults and validation; the CRDs are generated from these types."""
