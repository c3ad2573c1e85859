"""How the plans of an installation run."""
