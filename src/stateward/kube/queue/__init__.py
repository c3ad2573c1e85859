"""The work queue: a key is in one worker at a time, and a key that fails delays only itself."""
