"""Members that join, leave or are replaced: surge, replacement, detection, kept volumes."""
