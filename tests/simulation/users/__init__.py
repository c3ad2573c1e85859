"""What people do to a cluster: edits, mistakes and their repair, drawn edits."""
