"""What FoundationDB is asked and told by its command line, and what its status means."""
