"""What the API server needs: schemas, rules between fields, CRDs, reference pages."""
