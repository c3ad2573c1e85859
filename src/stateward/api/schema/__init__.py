"""What the API server needs to know: schemas, rules between fields, CRDs, reference pages."""
