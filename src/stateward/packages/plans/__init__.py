"""How the plans of an installation run: which plan, which step, when an object is healthy, and what is remembered."""
