"""Many clusters on a real API server: how long they take to be made, and what the operator uses for them."""
