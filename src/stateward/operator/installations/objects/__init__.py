"""The objects that an installation makes: where they live, who owns them, how they are written and removed."""
