"""The workqueue: a key is in one worker at a time, and a failing key delays only itself."""
